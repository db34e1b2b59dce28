"""Fitted models in files: `save_model` and `load_model`, by skops."""

from ._saved_model import SavedModel, load_model, save_model

__all__ = ["SavedModel", "load_model", "save_model"]
