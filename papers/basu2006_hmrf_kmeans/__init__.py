"""Basu, Bilenko, Banerjee & Mooney (2006): HMRF-KMeans."""
