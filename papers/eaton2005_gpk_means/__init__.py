"""Eaton (MSc thesis, 2005): GPK-Means."""
