"""The bubblewrap backend: no engine, no images; for trusted authors only, its evidence is provisional."""

from sandboxes.bubblewrap.backend import BubblewrapBackend

__all__ = ["BubblewrapBackend"]
