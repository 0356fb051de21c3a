"""Exports in a form that is asked for by name, whatever the gate would say: all are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragguard.export.parity import Gate, Parity
from ragguard.proxy.manifest import Precision

__all__ = ["INT8_FORMS", "open_gate", "precision_of"]

INT8_FORMS = ("int8 dynamic", "int8 blocks")
"""In the order in which `export_proxy` tries them."""


def precision_of(form: str) -> Precision:
    """Return the precision of "fp32", "fp16-weights", "fp16" or one of `INT8_FORMS`."""
    return form.partition(" ")[0]  # type: ignore[return-value]


def open_gate(form: str) -> Mapping[str, Gate]:
    """Return gates for `export_proxy` behind which comes the export of this form."""
    refused = INT8_FORMS.index(form) if form in INT8_FORMS else 0
    gate: Any = _OpenGate(refused)
    return {precision_of(form): gate}


@dataclass
class _OpenGate:
    """Refuses a number of exports, and lets the next one pass whatever it scores."""

    refused: int

    def failures(self, parity: Parity) -> list[str]:
        del parity
        self.refused -= 1
        return ["another form is wanted"] if self.refused >= 0 else []
