"""Who runs attributions, an in-process worker by default, and what these may do."""

from ragguard.background.policy import Policy
from ragguard.background.worker import Worker

__all__ = ["Policy", "Worker"]
