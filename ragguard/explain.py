"""A picture of one verdict: the passages in similarity space, what was dropped, and why."""

from __future__ import annotations

import os
import textwrap
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.protocol import Embedder
from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.inline.projection import plane
from ragguard.inline.vectors import similarity_matrix, vectors
from ragguard.passage import Passage
from ragguard.verdict import Verdict

__all__ = ["Explanation", "draw", "explain"]

Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart with any colour vision; the marker's shape says the same.
_KEPT, _DROPPED, _QUERY = "#0072B2", "#D55E00", "#000000"
_WIDTH, _LEFT, _LINE = 12.0, 5.6, 0.2  # inches
_COLUMNS = 84  # characters of a line beside the plot
_CLOSE = 0.085  # numbers nearer to each other than this share of the plot are moved apart


@dataclass(frozen=True)
class Explanation:
    """What the picture of a verdict shows.

    Attributes:
        query: The question.
        passages: The judged passages, in rank order.
        verdict: What the guard said of them.
        places: float64 array of shape (n, 2), or (n + 1, 2) with the question in the last row.
        shown: Share of the squared distances that the plane shows, in [0, 1].
    """

    query: str
    passages: tuple[Passage, ...]
    verdict: Verdict
    places: Floats
    shown: float


def explain(
    query: str, passages: Sequence[Passage], verdict: Verdict, embedder: Embedder
) -> Explanation:
    """Place the passages of a verdict in a plane.

    The question is placed too, unless the passages carry vectors of their own: the embedder need
    not be the one that made them.

    Args:
        query: The question.
        passages: What `Guard.filter` was given, at least one.
        verdict: What it answered.
        embedder: Embeds the texts.

    Raises:
        InvalidInputError: The verdict is not of these passages, or there are none.
        EmbeddingError: The texts cannot be embedded.
    """
    if not passages or len(passages) != len(verdict.evidence):
        raise InvalidInputError(
            f"a verdict on {len(verdict.evidence)} passages does not explain {len(passages)}; pass "
            "the passages that were filtered, at least one"
        )
    shown = list(passages)
    if any(passage.embedding is None for passage in passages):
        shown.append(Passage(query))
    places, share = plane(similarity_matrix(vectors(shown, embedder)))
    return Explanation(query, tuple(passages), verdict, places, share)


def draw(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write the picture as SVG or PNG, by the ending of `path`.

    Raises:
        InvalidInputError: The path ends otherwise, or cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise InvalidInputError(f"a picture is written as .svg or .png, not as {os.fspath(path)!r}")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a picture of a verdict", "explain") from error
    entries = [_entry(explanation, position) for position in range(len(explanation.passages))]
    title = _wrapped(explanation.query or "(empty question)", 100)[:2]
    lines = sum(len(entry) for entry in entries) + 0.6 * len(entries)
    height = max(6.4, 1.6 + _LINE * (lines + len(title)))
    settings = {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "svg.fonttype": "none",  # text stays text: any script can be shown, searched and copied
        "svg.hashsalt": "ragguard",  # the same verdict is the same file
        "text.parse_math": False,  # a "$" in a passage is a "$"
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(_WIDTH, height), facecolor="white")
        top = 1.0 - 0.15 / height
        for row, line in enumerate(title):
            figure.text(0.02, top - row * 0.26 / height, line, fontsize=13, weight="bold", va="top")
        top -= (len(title) * 0.26 + 0.06) / height
        figure.text(0.02, top, _outcome(explanation.verdict), fontsize=11, va="top")
        figure.text(
            (_LEFT + 0.18) / _WIDTH,
            top - 0.02 / height,
            "Suspicion: the higher, the more speaks for poison.",
            fontsize=9,
            color="#444444",
            va="top",
        )
        top -= 0.5 / height
        side = _LEFT - 0.85
        plot = figure.add_axes((0.02, top - side / height, side / _WIDTH, side / height))
        _draw_plane(plot, explanation)
        _draw_list(figure, entries, explanation, top, height)
        try:
            with _glyphs_may_be_missing():
                figure.savefig(path, format=kind, dpi=120, metadata=_undated(kind))
        except OSError as error:
            raise InvalidInputError(
                f"cannot write {os.fspath(path)}: {error.strerror}; pass a path that can be written"
            ) from error


def _outcome(verdict: Verdict) -> str:
    flagged = sum(evidence.flagged for evidence in verdict.evidence)
    if verdict.error is not None:
        return f"Not judged, all passages kept: {_visible(verdict.error)[:110]}"
    fate = "dropped" if verdict.mode == "filter" else "would be dropped (monitor mode)"
    found = "looks attacked" if verdict.attacked else "looks like clean traffic"
    return (
        f"This set {found} (p = {verdict.p_value:.4f}): "
        f"{flagged} of {len(verdict.evidence)} passages {fate}."
    )


def _entry(explanation: Explanation, position: int) -> list[str]:
    """Return the lines beside the plot for one passage: its fate, the reason, how it begins."""
    evidence = explanation.verdict.evidence[position]
    passage = explanation.passages[position]
    dropped = "DROPPED" if explanation.verdict.mode == "filter" else "WOULD BE DROPPED"
    fate = dropped if evidence.flagged else "kept"
    name = _visible(passage.id)
    name = name if len(name) <= 40 else f"{name[:39]}…"
    why = _wrapped(f"{'Why' if evidence.flagged else 'Noted'}: {evidence.reason}", _COLUMNS)
    begins = textwrap.shorten(_visible(passage.text[:400]), _COLUMNS - 2, placeholder=" …")
    return [f"{fate}   {name}   (suspicion {evidence.suspicion:+.1f})", *why, f"“{begins}”"]


def _draw_plane(plot: Any, explanation: Explanation) -> None:
    n = len(explanation.passages)
    low, high = explanation.places.min(axis=0), explanation.places.max(axis=0)
    span = float((high - low).max()) or 1.0
    # One scale for both axes, so that distances can be compared in any direction.
    places = 0.5 + 0.8 * (explanation.places - (low + high) / 2.0) / span
    plot.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    for spine in plot.spines.values():
        spine.set_color("#999999")
    flags = [evidence.flagged for evidence in explanation.verdict.evidence]
    numbers = _apart(places)[:n]
    for place, number in zip(places[:n], numbers, strict=True):
        plot.plot(*zip(place, number, strict=True), color="#888888", linewidth=0.8, zorder=1)
    dropped = "dropped" if explanation.verdict.mode == "filter" else "would be dropped"
    for fate, marker, colour, size in ((False, "o", _KEPT, 60), (True, "s", _DROPPED, 70)):
        chosen = places[:n][np.array(flags) == fate]
        word = dropped if fate else "kept"
        if len(chosen):
            plot.scatter(
                *chosen.T, marker=marker, s=size, color=colour, edgecolor="white", label=word,
                zorder=2,
            )  # fmt: skip
    if len(places) > n:
        plot.scatter(*places[n], marker="*", s=190, color=_QUERY, label="question", zorder=2)
    for position in range(n):
        colour = _DROPPED if flags[position] else _KEPT
        plot.text(
            *numbers[position], str(position + 1), ha="center", va="center", fontsize=10,
            weight="bold", color="white", zorder=3,
            bbox={
                "boxstyle": "square,pad=0.25" if flags[position] else "circle,pad=0.2",
                "facecolor": colour, "edgecolor": "white",
            },
        )  # fmt: skip
    plot.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=3, frameon=False, fontsize=10
    )
    plot.set_xlabel(
        "Near each other: similar texts, by the cosine of their embeddings.\n"
        f"The plane shows {explanation.shown:.0%} of the differences.",
        fontsize=9,
    )


def _draw_list(
    figure: Any, entries: list[list[str]], explanation: Explanation, top: float, height: float
) -> None:
    line = top
    for position, entry in enumerate(entries):
        flagged = explanation.verdict.evidence[position].flagged
        colour = _DROPPED if flagged else _KEPT
        figure.text(
            _LEFT / _WIDTH, line, str(position + 1), fontsize=10, weight="bold", va="top",
            ha="right", color="white",
            bbox={
                "boxstyle": "square,pad=0.2" if flagged else "circle,pad=0.15",
                "facecolor": colour, "edgecolor": "white",
            },
        )  # fmt: skip
        for number, text in enumerate(entry):
            figure.text(
                (_LEFT + 0.18) / _WIDTH,
                line,
                text,
                fontsize=9.5 if number == 0 else 9,
                weight="bold" if number == 0 else "normal",
                color=colour if number == 0 else "#444444" if number == len(entry) - 1 else "black",
                va="top",
            )
            line -= _LINE / height
        line -= 0.6 * _LINE / height


def _apart(places: Floats) -> Floats:
    """Return where to put the numbers: off their points and off each other."""
    centre = places.mean(axis=0)
    away = places - centre
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    # Equal points would push nowhere: each gets a direction of its own.
    turns = 2.4 * np.arange(len(places))
    own = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    numbers: Floats = places + 0.05 * np.where(lengths > 1e-6, away / np.maximum(lengths, 1e-6), 0)
    numbers += 0.01 * own
    for _ in range(200):
        obstacles = np.concatenate([numbers, places])
        gaps = numbers[:, None] - obstacles[None]
        distances = np.linalg.norm(gaps, axis=2)
        distances[np.arange(len(numbers)), np.arange(len(numbers))] = np.inf
        reach = np.r_[np.full(len(numbers), _CLOSE), np.full(len(places), 0.6 * _CLOSE)]
        push = np.clip(reach - distances, 0.0, None) / np.maximum(distances, 1e-9)
        moves = (push[:, :, None] * gaps).sum(axis=1) / 2.0
        if np.abs(moves).max() < 1e-4:
            break
        numbers = np.clip(numbers + moves, 0.04, 0.96)
    return numbers


def _visible(text: str) -> str:
    """Return `text` on one line, without characters that steer or hide what stands around them."""
    return " ".join(
        "".join(" " if unicodedata.category(c) in _STEERING else c for c in text).split()
    )


_STEERING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(_visible(text), columns) or [""]


def _undated(kind: str) -> dict[str, None]:
    return {"Date": None} if kind == "svg" else {}


@contextmanager
def _glyphs_may_be_missing() -> Iterator[None]:
    """Let a script that the font lacks be drawn as boxes, without a warning for each character."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
