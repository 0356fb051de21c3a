"""Every exception that ragguard raises, in one tree.

Each message says what is wrong and what to do next. Catch `RagguardError` to catch all of them;
the leaves also derive from the builtin that a caller would expect (`ValueError`, `KeyError`, ...).
"""

from __future__ import annotations

_HALF = 490  # characters of a message, at most two of which are told


class RagguardError(Exception):
    """Base of every error that ragguard raises."""

    def __str__(self) -> str:
        """Return the message; of one that quotes a long argument both ends, and what to do."""
        told = super().__str__()
        if len(told) <= 2 * _HALF:
            return told
        return f"{told[:_HALF]} ... {told[-_HALF:]}"


class InvalidInputError(RagguardError, ValueError):
    """An argument is not of the type or form that the call takes."""


class EmbeddingError(RagguardError, ValueError):
    """Embeddings are missing, of the wrong shape, or not finite."""


class JudgingError(RagguardError, RuntimeError):
    """A retrieved set, or a part of it, could not be judged, and `on_error` is "raise"."""


class CalibrationError(RagguardError, ValueError):
    """A calibration is too small, damaged, or made for another embedder."""


class MissingExtraError(RagguardError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, needed_for: str, extra: str) -> None:
        super().__init__(
            f"{needed_for} needs packages that are not installed; in a clone of the repository: "
            f"pip install '.[{extra}]'"
        )


class StoreError(RagguardError, RuntimeError):
    """The audit store cannot be opened, read or written."""


class EventNotFoundError(RagguardError, LookupError):
    """No event with that id is in the audit store."""


class EventLostError(EventNotFoundError):
    """The event was reported here and lost before the store had it; the message says why."""


class QuarantineNotFoundError(RagguardError, LookupError):
    """No quarantined passage with that key is in the audit store."""


class AllowanceNotFoundError(RagguardError, LookupError):
    """Nothing of that name is on the allow-list."""


class VerdictNotFoundError(RagguardError, LookupError):
    """No verdict with that id is in the audit store."""


class AttributionPendingError(RagguardError, RuntimeError):
    """The attribution of an event is not finished yet; pass `timeout=` to wait for it."""


class AttributionTimeoutError(RagguardError, TimeoutError):
    """The attribution of an event did not finish within the given timeout."""


class EventFailedError(RagguardError, RuntimeError):
    """The attribution of an event failed for good; the message holds the cause."""


class ProxyError(RagguardError, RuntimeError):
    """A proxy language model cannot be loaded or cannot score a text."""


class RetrievalError(RagguardError, RuntimeError):
    """A knowledge base that the caller gave cannot be searched."""


class GenerationError(RagguardError, RuntimeError):
    """A language model that the caller gave did not answer with text."""
