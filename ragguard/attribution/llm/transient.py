"""Which errors of a model's client are worth another try."""

from __future__ import annotations

__all__ = ["is_transient"]

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
# Exact class names anywhere in the exception's ancestry, so that no client library is imported:
# httpx, requests, the OpenAI and Anthropic clients, and Google's API core, in this order.
_TRANSIENT_NAMES = frozenset(
    {
        "TransportError",
        "Timeout",
        "ConnectionError",
        "IncompleteRead",
        "APIConnectionError",
        "RateLimitError",
        "InternalServerError",
        "ServiceUnavailable",
        "ResourceExhausted",
        "DeadlineExceeded",
    }
)


def is_transient(error: BaseException) -> bool:
    """Return True if the same request may succeed later: timeouts, lost connections, 429, 5xx."""
    status = _http_status(error)
    if status is not None:
        return status in _TRANSIENT_STATUS or 500 <= status < 600
    if isinstance(error, (TimeoutError, ConnectionError)):
        return True
    if isinstance(getattr(error, "reason", None), OSError):  # urllib.error.URLError
        return True
    return not _TRANSIENT_NAMES.isdisjoint(kind.__name__ for kind in type(error).__mro__)


def _http_status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return int(value)
    return None
