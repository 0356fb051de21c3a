"""Explanation prompting: SmolLM2-135M is asked which passages led it to its answer.

The original asks for them in the prompt that asks for the answer; here the answer is given.
"""

from typing import Any

from benchmarks.plugins import About, AttributorPlugin
from benchmarks.readers.base import PASSAGE_CHARACTERS
from ragguard.attribution import Attribution
from ragguard.attribution.result import Attributor, Cause
from ragguard.attribution.text_model import as_text_model

_ASKED = """{}\n\nQuestion: {}\nYour answer: {}\n
Explain which of the passages led you to this answer. Name each by its number in brackets."""


class Explained(Attributor):
    """Blames those of the k passages that the model names."""

    def __init__(self, model: Any, k: int) -> None:
        self._model, self._k = as_text_model(model), k

    def attribute(self, query: str, response: str, retrieve: Any) -> Attribution:
        """Return whom the model names; it is shown the beginnings of the passages, as readers."""
        scope = list(retrieve(query, self._k))
        shown = [f"[{at}] {one.text[:PASSAGE_CHARACTERS]}" for at, one in enumerate(scope, 1)]
        said = self._model.generate(_ASKED.format("\n\n".join(shown), query, response))
        named = [f"[{at}]" in said for at in range(1, len(scope) + 1)]
        columns = (*[[0.0] * len(scope)] * 3, [float(one) for one in named])
        cause: Cause = "poisoning" if any(named) else "unclear"
        why, calls = "as the model explains it", {"calls": 1}
        found = (query, response, "explanation", scope, columns, named)
        return Attribution.of(*found, (cause, why), calls)


_PAPER = ("RAGForensics, baseline", "WWW 2025")
_ABOUT = About(
    "explanation, SmolLM2-135M", *_PAPER, "one wrong answer", "language model", "templated"
)
ATTRIBUTOR = AttributorPlugin(_ABOUT, lambda setting: Explained("smollm2", setting.k))
