"""Compiled loops over rows and over links."""
