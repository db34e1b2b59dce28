"""Measured beside the documents: protocols and bars of others."""
