"""Where blocks of rows run: threads on this machine."""

from ._threads import Threads

__all__ = ["Threads"]
