"""Rows and their assignments: in memory, or in the blocks of an engine."""
