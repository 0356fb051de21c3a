"""What a verdict tells tracing systems: counts and names, never a text.

The span follows the conventions that OpenTelemetry's working group on generative AI proposes for
guardrails; all that is ragguard's own is named `ragguard.*`. docs/operations.md lists the names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ragguard._version import __version__
from ragguard.verdict import Verdict

logger = logging.getLogger(__name__)

SPAN = "run_guardrail ragguard"
"""The name of the span."""

_GUARDRAIL = {
    "gen_ai.operation.name": "run_guardrail",
    "gen_ai.security.guardrail.name": "ragguard",
    "gen_ai.security.guardrail.version": __version__,
}


def attributes(verdict: Verdict) -> dict[str, Any]:
    """Return what a verdict comes to, by the names of its attributes; no texts and no ids."""
    found: dict[str, Any] = {
        "ragguard.mode": verdict.mode,
        "ragguard.attacked": verdict.attacked,
        "ragguard.p_value": float(verdict.p_value),
        "ragguard.kept": len(verdict.kept),
        "ragguard.dropped": len(verdict.dropped),
        "ragguard.marked": len(verdict.marked),
        "ragguard.failed": verdict.error is not None,
    }
    if verdict.id is not None:
        # Only of such a verdict: to put the evidence into words costs more than to decide.
        flagged = [one for one in verdict.evidence if one.flagged]
        found |= {
            "ragguard.verdict_id": verdict.id,
            "ragguard.flagged": len(flagged),
            "ragguard.quarantined": sum(one.signal == "quarantine" for one in flagged),
            "ragguard.undecided": sum(not one.decided for one in verdict.evidence),
            "ragguard.signals": sorted({one.signal for one in flagged}),
        }
    return found


class Spans:
    """Spans around verdicts, where OpenTelemetry's API is installed (the extra `otel`)."""

    def __init__(self) -> None:
        self._start: Callable[..., Any] | None = None
        self._failures = 0
        try:
            from opentelemetry import trace
        except ImportError:
            return
        self._start = trace.get_tracer("ragguard", __version__).start_span

    def around(self, decide: Callable[[], Verdict], begun: int | None = None) -> Verdict:
        """Return the verdict of `decide`, with a span of the time that it took.

        The span begins now, or at `begun`, in nanoseconds since 1970.
        """
        span = self._tried(self._start, SPAN, attributes=_GUARDRAIL, start_time=begun)
        if span is None:
            return decide()
        try:
            verdict = decide()
            if self._tried(span.is_recording):
                self._tried(lambda: span.set_attributes(attributes(verdict)))
            return verdict
        except Exception as error:
            self._tried(span.set_attribute, "error.type", type(error).__qualname__)
            raise
        finally:
            self._tried(span.end)

    def _tried(self, call: Callable[..., Any] | None, *args: Any, **named: Any) -> Any:
        """Return what a call returns; one that fails costs its span, and no verdict."""
        try:
            return None if call is None else call(*args, **named)
        except Exception as error:  # whatever the application's exporters raise
            self._failures += 1
            # The first, second, fourth, eighth ...: an exporter that is down must not fill the log.
            if self._failures & (self._failures - 1) == 0:
                logger.warning("no span is told (%d times so far): %s", self._failures, error)
            return None
