"""Who runs attributions: an in-process worker by default."""

from ragguard.background.worker import Worker

__all__ = ["Worker"]
