"""Fitted models in files: `save_model` and `load_model`. No pickle: JSON and arrays in a zip."""

from ._saved_model import SavedModel, load_model, save_model

__all__ = ["SavedModel", "load_model", "save_model"]
