"""What a new calibration must pass before it is put in force without its owner's word.

    new threshold <= old + `MAX_STEP`,    found >= min(`REFERENCE_SHARE` shipped finds, found now)

Whoever can ask or plant passages has a hand in the traffic that a guard is calibrated on, and what
scores high there raises the threshold. So it may not rise far at a time, and however often it
rises, the reference attacks must still be found. Those are on this project's own fictional
knowledge base (`benchmarks.make_reference`): questions of several forms, each carried into one and
into three planted passages in four ways. Everybody can read them: they do not stand for attacks
that are made to pass, but say how far a threshold has risen.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import ceil, inf, nextafter

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import CalibrationError
from ragguard.inline.calibration_file import default_calibration, gate_threshold
from ragguard.inline.conformal import Calibration
from ragguard.inline.drift import Drift
from ragguard.inline.evidence import gather
from ragguard.inline.tokens import tokenize_query
from ragguard.passage import Passage

logger = logging.getLogger(__name__)

K = 5
"""How many passages of each attack would reach the generator; five more are its reference."""

MAX_STEP = 1.0
"""Nats by which a calibration may raise the threshold in force."""

REFERENCE_SHARE = 0.9
"""Of the reference attacks that the shipped calibration finds, the share that must be found."""

_REMEDY = (
    "Look at what the gate flags in this traffic. From a store, clean_looking=True "
    "(--clean-looking) learns nothing above the threshold in force; if you know that all passages "
    "are clean, pass force=True (--force)"
)


def require_calm(fired: Drift) -> None:
    """Raise `CalibrationError` where the gate in force fires on more than chance explains."""
    if fired.drifted:
        raise CalibrationError(
            f"{fired.above / fired.queries:.0%} of this record looks attacked: the gate in force "
            f"fires on {fired.above} of {fired.queries} queries, its calibration allows about "
            f"{fired.alpha * fired.queries:.1f}. Look at what was flagged. To learn nothing from "
            "these queries pass clean_looking=True (--clean-looking); if they are clean, since the "
            "pages or the retriever are others now, pass force=True (--force)"
        )


def within_step(made: Calibration, in_force: Calibration | None, alpha: float) -> Calibration:
    """Return a calibration that raises no threshold further than it may, and log if it would.

    What scores higher counts as just below that; `source` tells of it. Arguments as those of
    `require_admissible`.
    """
    size, given = made.size, {"with_reference": made.with_reference}
    highest = {naming: _highest(made, in_force, alpha, naming) for naming in (False, True)}
    if made.pooled(alpha):  # one sample serves both
        highest = dict.fromkeys(highest, min(highest.values()))
    scores = {False: made.scores, True: made.naming}
    over = {
        naming: int((scores[naming] >= line).sum())
        for naming, line in highest.items()
        if made.of(naming, alpha) is not None
        and gate_threshold(made, alpha, size, **given, naming=naming) > line
    }
    if not over:
        return made
    capped = {
        naming: np.minimum(scores[naming], nextafter(nextafter(highest[naming], -inf), -inf))
        for naming in over
    }
    told = (
        f"{sum(over.values())} of {made.queries} queries score higher than one calibration may "
        "raise the threshold, and count as that"
    )
    logger.warning(
        "%s: look at what the gate flags in this traffic. If its passages are clean, such as "
        "titles or FAQs that say what is asked, calibrate again, or pass force=True (--force)",
        told,
    )
    return replace(
        made,
        scores=capped.get(False, made.scores),
        naming=capped.get(True, made.naming),
        source=f"{made.source}; {told}",
    )


def _highest(made: Calibration, in_force: Calibration | None, alpha: float, naming: bool) -> float:
    """Return the highest threshold that a class of queries may get: all that is required below."""
    size, below = made.size, made.with_reference
    old, usual = (
        gate_threshold(one, alpha, size, with_reference=below, naming=naming)
        for one in (in_force, None)
    )
    scored = zip(reference_attacks(), reference_scores(size, with_reference=below), strict=True)
    found = sorted([float(score) for attack, score in scored if attack.naming is naming])[::-1]
    wanted, now = (sum(score >= line for score in found) for line in (usual, old))
    least = ceil(min(REFERENCE_SHARE * wanted, now))
    return min(max(old + MAX_STEP, usual), found[least - 1] if least else inf)


def require_admissible(made: Calibration, in_force: Calibration | None, alpha: float) -> None:
    """Raise `CalibrationError` where the threshold would rise too far, or attacks be found no more.

    Each class of queries of which it has a sample is checked, with reference attacks of that class;
    any other goes by the shipped sample. It would replace what is `in_force`; None for the shipped
    one.
    """
    size, below = made.size, made.with_reference
    lines = {}
    for naming in (False, True):
        sample = made.of(naming, alpha)
        if sample is not None:
            new, old, usual = (
                gate_threshold(one, alpha, size, with_reference=below, naming=naming)
                for one in (made, in_force, None)
            )
            if sample.confident or new > usual:  # else it goes back to the shipped line
                _require_small_step(sample, new, old)
            lines[naming] = new, old
    # Of an alpha that is too small for its size, the shipped calibration could find nothing.
    least = 1 / (1 + len(default_calibration(size, with_reference=below).scores))
    shipped = gate_threshold(None, max(alpha, least), size, with_reference=below)
    scores = reference_scores(size, with_reference=below).tolist()
    scored = list(zip(reference_attacks(), scores, strict=True))
    for naming, (new, old) in lines.items():
        chosen = [(attack, score) for attack, score in scored if attack.naming is naming]
        _require_reference(chosen, new=new, old=old, shipped=shipped)


def _require_small_step(sample: Calibration, new: float, old: float) -> None:
    if new <= old + MAX_STEP:
        return
    above = int((sample.scores >= old + MAX_STEP).sum())
    raise CalibrationError(
        f"the threshold would rise from {old:.1f} to {new:.1f} nats, and one calibration may raise "
        f"it by {MAX_STEP:g}: {above} of {len(sample.scores)} queries score higher still. Either "
        "somebody plants passages, or asks what stands in them word for word; or honest pages "
        f"repeat what is asked (titles, FAQs). {_REMEDY}"
    )


def _require_reference(
    scored: Sequence[tuple[ReferenceAttack, float]], *, new: float, old: float, shipped: float
) -> None:
    found, wanted, now = (sum(score >= line for _, score in scored) for line in (new, shipped, old))
    if found >= min(REFERENCE_SHARE * wanted, now):
        return
    lost = [attack for attack, score in scored if shipped <= score < new]
    forms = Counter(attack.form for attack in lost).most_common()
    raise CalibrationError(
        f"with a threshold of {new:.1f} nats the gate would find {found / wanted:.0%} of the "
        f"reference attacks that the shipped calibration finds, it must be {REFERENCE_SHARE:.0%}. "
        f"It would miss {', '.join(f'{count} with {form}' for form, count in forms)}, for example "
        f'those on "{lost[0].query}". {_REMEDY}'
    )


@dataclass(frozen=True)
class ReferenceAttack:
    """A question and what is retrieved for it."""

    query: str
    form: str  # how the planted passages carry it, in words
    passages: tuple[Passage, ...]  # ten, best first
    planted: tuple[int, ...]  # ranks

    @property
    def naming(self) -> bool:
        """Whether the question only names something."""
        return tokenize_query(self.query).names


@cache
def reference_attacks() -> tuple[ReferenceAttack, ...]:
    """Return the shipped attacks."""
    file = resources.files("ragguard.inline") / "reference_attacks.jsonl"
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        for attack in asked["attacks"]:
            texts = list(asked["hits"])
            for rank, text in zip(attack["ranks"], attack["texts"], strict=True):
                texts.insert(rank, text)
            passages = tuple(map(Passage, texts[: len(asked["hits"])]))
            ranks = tuple(attack["ranks"])
            found.append(ReferenceAttack(asked["query"], attack["form"], passages, ranks))
    return tuple(found)


@cache
def reference_scores(size: int, *, with_reference: bool) -> NDArray[np.float64]:
    """Return what n attacks score, of each at most `size` passages: float64 array of shape (n,)."""
    k = min(size, K)
    shown = None if with_reference else k
    scores = np.array(
        [gather(one.query, one.passages[:shown], k).score for one in reference_attacks()]
    )
    scores.setflags(write=False)
    return scores
