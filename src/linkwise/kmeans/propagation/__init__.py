"""GPK-Means: links inferred from given ones."""
