"""Rows and their assignments: in memory, or in blocks elsewhere."""
