"""A picture of one verdict: passages in similarity space, what was dropped, and why."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_path
from ragguard.embedding.adapt import Embedder
from ragguard.embedding.vectors import similarity_matrix, vectors
from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.files import cannot_write, make_private
from ragguard.passage import Passage
from ragguard.text import printable
from ragguard.verdict import Evidence, Verdict

Fate = Literal["kept", "marked", "dropped", "reserve"]
"""What became of a passage; "marked" is kept and unusual, "reserve" ranks below the k wanted, and
was not needed."""

MOST_DRAWN = 40
"""Passages that a picture shows: those dropped, those marked, then by rank; others are counted."""

Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart with any colour vision; marker and box say the same by shape.
_STYLES = {
    "kept": ("#0072B2", "o", "circle,pad=0.2"),
    "marked": ("#CC79A7", "^", "round,pad=0.25"),
    "dropped": ("#D55E00", "s", "square,pad=0.25"),
    "reserve": ("#7F7F7F", "D", "square,pad=0.2"),
}
_MARGIN, _COLUMN, _LINE = 0.25, 6.5, 0.2  # inches
_SIDE, _UNDER = 5.4, 0.95  # of the plot, and of its legend and caption, in inches
_COLUMNS = 84  # characters of a line in a column
_READ = 400  # characters of a text that are looked at
_CLOSE = 0.085  # numbers nearer to each other than this share of the plot are moved apart


@dataclass(frozen=True)
class Explanation:
    """What the picture of a verdict shows."""

    query: str
    passages: tuple[Passage, ...]  # those that were judged, in rank order
    verdict: Verdict
    fates: tuple[Fate, ...]  # what became of each passage
    drawn: tuple[int, ...]  # positions of what is drawn, ascending; at most `MOST_DRAWN`
    # Of shape (n, 2) for n drawn passages, or (n + 1, 2) with the question in the last row.
    places: Floats
    shown: float  # share of the squared distances that the plane shows, in [0, 1]
    threshold: float | None  # the suspicion at which the gate fires; None if that is not known

    @property
    def not_drawn(self) -> Mapping[Fate, int]:
        """How many passages of each fate the picture leaves out."""
        drawn = set(self.drawn)
        return Counter(fate for position, fate in enumerate(self.fates) if position not in drawn)


def explain(
    query: str,
    passages: Sequence[Passage],
    verdict: Verdict,
    embedder: Embedder,
    *,
    threshold: float | None = None,
) -> Explanation:
    """Place the passages of a verdict in a plane.

    The question is placed too, unless the passages carry vectors of their own: the embedder need
    not be the one that made them. The gate fires at the `threshold`, for the picture to say.

    Raises:
        InvalidInputError: The verdict is not of these passages, or there are none.
    """
    evidence = verdict.evidence
    if not passages or len(passages) != len(evidence):
        raise InvalidInputError(
            f"the verdict is on {len(evidence)} passages, and {len(passages)} are given; pass the "
            "passages that were filtered, at least one"
        )
    kept = {id(passage) for passage in verdict.kept}

    def fate(passage: Passage, found: Evidence) -> Fate:
        if found.flagged or found.marked:
            return "dropped" if found.flagged else "marked"
        return "kept" if id(passage) in kept else "reserve"

    fates = tuple(map(fate, passages, evidence))
    # Sorted is stable: by rank within each fate.
    urgent: dict[Fate, int] = {"dropped": 0, "marked": 1}
    first = sorted(range(len(fates)), key=lambda position: urgent.get(fates[position], 2))
    drawn = sorted(first[:MOST_DRAWN])
    shown = [passages[position] for position in drawn]
    if any(passage.embedding is None for passage in shown):
        shown.append(Passage(query))
    where = plane(similarity_matrix(vectors(shown, embedder)))
    return Explanation(query, tuple(passages), verdict, fates, tuple(drawn), *where, threshold)


def plane(similarity: NDArray[np.floating]) -> tuple[Floats, float]:
    """Place n items in a plane by classical multidimensional scaling (Torgerson, 1952).

    The distance of two unit vectors is sqrt(2 - 2 s). The squared distances, centred twice, are the
    inner products of the items; their two leading eigenvectors span the plane that loses least.

    `similarity` is of shape (n, n): the cosine of each pair. Returned are places, float64 of shape
    (n, 2), and the share of all squared distances that the plane shows, in [0, 1]. The largest
    coordinate of each axis is positive, so a picture is never mirrored.
    """
    squared = 2.0 - 2.0 * np.asarray(similarity, dtype=np.float64)
    centre = np.eye(len(squared)) - 1.0 / len(squared)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    # Rounding, or similarities of no vectors at all, make eigenvalues that are negative.
    values = np.clip(values, 0.0, None)
    order = np.argsort(-values, kind="stable")[:2]
    axes = vectors[:, order] * np.sqrt(values[order])
    places = np.zeros((len(squared), 2))
    places[:, : axes.shape[1]] = axes
    largest = places[np.abs(places).argmax(axis=0), [0, 1]]
    places *= np.where(largest < 0.0, -1.0, 1.0)
    whole = values.sum()
    return places, float(values[order].sum() / whole) if whole > 1e-12 else 1.0


def draw(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write the picture of a verdict as SVG or PNG, by the ending of `path`.

    Raises:
        InvalidInputError: The path ends otherwise, or cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    target = require_path("path", path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise InvalidInputError(f"a picture is written as .svg or .png, not as {str(target)!r}")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a picture of a verdict", "explain") from error
    width = 2 * _COLUMN + 3 * _MARGIN
    settings = {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "svg.fonttype": "none",  # text stays text: any script can be shown, searched and copied
        "svg.hashsalt": "ragguard",  # the same verdict is the same file
        "text.parse_math": False,  # a "$" in a passage is a "$"
        "savefig.dpi": 120,
        "savefig.bbox": "tight",  # the picture is as tall as what is written below the plot
        "savefig.pad_inches": 0.2,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes, without a warning for each character.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(width, _SIDE), facecolor="white")

        def write(x: float, y: float, text: str, **style: Any) -> None:
            figure.text(x / width, 1.0 - y / _SIDE, text, va="top", **style)

        asked = printable(explanation.query[:_READ])
        lines = textwrap.wrap(asked, 110)[:2] or ["(empty question)"]
        write(_MARGIN, 0.0, "\n".join(lines), fontsize=13, weight="bold", linespacing=1.2)
        top = 0.06 + 0.26 * len(lines)
        for row, line in enumerate(_notes(explanation)):
            write(_MARGIN, top, line, fontsize=9.5 if row else 11)
            top += 0.22
        top += 0.2
        left = (_MARGIN + (_COLUMN - _SIDE) / 2) / width
        _draw_plane(figure.add_axes((left, -top / _SIDE, _SIDE / width, 1.0)), explanation)
        _write_entries(write, top, explanation)
        try:
            make_private(target)
            figure.savefig(target, format=kind, metadata={"Date": None})
        except (OSError, ValueError) as error:  # a name with NUL in it
            raise cannot_write(target, error) from error


def _write_entries(write: Any, top: float, explanation: Explanation) -> None:
    """Write each passage's fate, reason and text beside the plot, then under it, level in all."""
    entries = [_entry(explanation, position) for position in explanation.drawn]
    heights = [_LINE * (len(entry) + 0.6) for entry in entries]
    level = (_SIDE + _UNDER + sum(heights)) / 2
    x, y = _COLUMN + 2 * _MARGIN, top
    for position, (head, *rest), height in zip(explanation.drawn, entries, heights, strict=True):
        if y - top >= level and x > _MARGIN:
            x, y = _MARGIN, top + _SIDE + _UNDER
        fate = explanation.fates[position]
        write(x + 0.3, y, str(position + 1), ha="right", **_number_style(fate))
        write(x + 0.45, y, head, fontsize=9.5, weight="bold", color=_STYLES[fate][0])
        write(x + 0.45, y + _LINE, "\n".join(rest), fontsize=9.0, linespacing=1.35)
        y += height


def _notes(explanation: Explanation) -> list[str]:
    """Return the lines above the plot: the outcome, where the gate fires, and what is left out."""
    verdict, fates = explanation.verdict, explanation.fates
    fate = "dropped" if verdict.mode == "filter" else "would be dropped (monitor mode)"
    reserve, marked = map(fates.count, ("reserve", "marked"))
    spare = f", {marked} marked as unusual" if marked else ""
    spare += f", {reserve} in reserve below the ones wanted" if reserve else ""
    found = "looks attacked" if verdict.attacked else "looks like clean traffic"
    judged = f"This set {found} (p = {verdict.p_value:.4f})"
    if verdict.error is not None:
        judged = f"Not judged whole ({printable(verdict.error[:_READ])[:110]})"
    at = explanation.threshold
    fires = "" if at is None else f" The gate fires where one has {at:+.1f} or more."
    notes = [
        f"{judged}: {fates.count('dropped')} of {len(fates)} passages {fate}{spare}.",
        f"Suspicion: the higher, the more speaks for poison.{fires}",
    ]
    if left_out := explanation.not_drawn:
        parts = [f"{count} {_word(fate, verdict.mode)}" for fate, count in left_out.items()]
        notes.append(f"Not drawn: {sum(left_out.values())} more passages ({', '.join(parts)}).")
    return notes


def _word(fate: str, mode: str) -> str:
    if fate == "dropped" and mode == "monitor":
        return "would be dropped"
    return "in reserve" if fate == "reserve" else fate


def _entry(explanation: Explanation, position: int) -> list[str]:
    """Return the lines of one passage: its fate, the reason, how it begins."""
    passage, evidence = explanation.passages[position], explanation.verdict.evidence[position]
    word = _word(explanation.fates[position], explanation.verdict.mode)
    word = word.upper() if evidence.flagged else word
    name = printable(passage.id[:_READ])
    name = name if len(name) <= 40 else f"{name[:39]}…"
    why = "Why" if evidence.flagged or evidence.marked else "Noted"
    text = textwrap.shorten(printable(passage.text[:_READ]), _COLUMNS - 2, placeholder=" …")
    head = f"{word}   {name}   (suspicion {evidence.suspicion:+.1f})"
    because = textwrap.wrap(printable(f"{why}: {evidence.reason}"), _COLUMNS)
    return [head, *because, f"“{text}”"]


def _number_style(fate: str) -> dict[str, Any]:
    colour, _, shape = _STYLES[fate]
    box = {"boxstyle": shape, "facecolor": colour, "edgecolor": "white"}
    return {"fontsize": 10, "weight": "bold", "color": "white", "bbox": box}


def _draw_plane(plot: Any, explanation: Explanation) -> None:
    fates = [explanation.fates[position] for position in explanation.drawn]
    n = len(fates)
    low, high = explanation.places.min(axis=0), explanation.places.max(axis=0)
    # One scale for both axes, so that distances can be compared in any direction.
    span = float((high - low).max()) or 1.0
    places = 0.5 + 0.8 * (explanation.places - (low + high) / 2.0) / span
    plot.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    for fate, (colour, marker, _) in _STYLES.items():
        if fate in fates:
            plot.scatter(
                *places[:n][np.array(fates) == fate].T, marker=marker, s=60, color=colour,
                edgecolor="white", label=_word(fate, explanation.verdict.mode), zorder=2,
            )  # fmt: skip
    if len(places) > n:
        plot.scatter(*places[n], marker="*", s=190, color="black", label="question", zorder=2)
    numbers = _apart(places)[:n]
    for place, number, fate, position in zip(
        places, numbers, fates, explanation.drawn, strict=False
    ):
        plot.plot(*zip(place, number, strict=True), color="#888888", linewidth=0.8, zorder=1)
        style = {"ha": "center", "va": "center", "zorder": 3, **_number_style(fate)}
        plot.text(*number, str(position + 1), **style)
    plot.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=5, frameon=False)
    plot.set_xlabel(
        "Near each other: similar texts, by the cosine of their embeddings.\n"
        f"The plane shows {explanation.shown:.0%} of the differences.",
        fontsize=9,
    )


def _apart(places: Floats) -> Floats:
    """Return where to put the numbers: off their points and off each other."""
    turns = 2.4 * np.arange(len(places))  # equal points would push nowhere: each has its direction
    numbers: Floats = places + 0.06 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    own = np.arange(len(places))
    reach = np.repeat([_CLOSE, 0.6 * _CLOSE], len(places))
    for _ in range(200):
        gaps = numbers[:, None] - np.concatenate([numbers, places])
        distances = np.linalg.norm(gaps, axis=2)
        distances[own, own] = np.inf
        push = np.clip(reach - distances, 0.0, None) / np.maximum(distances, 1e-9)
        moves = (push[:, :, None] * gaps).sum(axis=1) / 2.0
        numbers = np.clip(numbers + moves, 0.04, 0.96)
    return numbers
