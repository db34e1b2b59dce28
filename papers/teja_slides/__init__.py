"""Teja: slides on constrained clustering, with COP-KMeans and PreIdentify-KMeans."""
