"""The tables of a result of `python -m benchmarks.adaptive`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables import Table

__all__ = ["tables"]

Row = Mapping[str, Any]

_ORDER = ("published", "plain text", "wording", "borrowed words", "split", "mimicry", "flooding")


def tables(sections: Mapping[str, Sequence[Row]]) -> list[Table]:
    """Return the tables of the sections "attacks", "denial" and "tracing"."""
    attacks = sections["attacks"]
    out = []
    for embedder in dict.fromkeys(row["embedder"] for row in attacks):
        rows = [row for row in attacks if row["embedder"] == embedder]
        out += [_passed(embedder, rows), _price(embedder, rows)]
    out += [_denial(sections["denial"])] if sections["denial"] else []
    out += [_tracing(sections["tracing"])] if sections["tracing"] else []
    return out


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _setting(row: Row) -> str:
    return f"k = {row['k']}" + (f", {row['over_fetch']}x" if row["over_fetch"] > 1 else "")


def _strata(rows: Sequence[Row]) -> list[tuple[str, int]]:
    found = {(row["attack"], row["planted"]) for row in rows}
    return sorted(found, key=lambda stratum: (_ORDER.index(stratum[0]), stratum[1]))


def _passed(embedder: str, rows: Sequence[Row]) -> Table:
    cells = {(row["attack"], row["planted"], _setting(row)): row for row in rows}
    settings = list(dict.fromkeys(_setting(row) for row in rows))
    return Table(
        f"Adaptive attacks, {embedder}: among the first k / undetected of those",
        ("attack", "planted", "targets", *settings),
        tuple(
            (
                attack,
                str(planted),
                str(cells[attack, planted, settings[0]]["targets"]),
                *(
                    f"{_share(n['sets'], n['targets'])} / {_share(n['undetected'], n['sets'])}"
                    for n in (cells[attack, planted, setting] for setting in settings)
                ),
            )
            for attack, planted in _strata(rows)
        ),
    )


def _price(embedder: str, rows: Sequence[Row]) -> Table:
    lines = []
    for attack, planted in _strata(rows):
        part = [row for row in rows if (row["attack"], row["planted"]) == (attack, planted)]
        asked = [row["asked"] for row in part if row["asked"] is not None]
        p_values = [row["p_value"] for row in part if row["p_value"] is not None]
        lines.append(
            (
                attack,
                str(planted),
                f"{sum(row['similarity_lost'] for row in part) / len(part):.3f}",
                _range(asked, ".0f"),
                _range(p_values, ".2g"),
                _share(sum(r["undetected"] for r in part), sum(r["sets"] for r in part)),
                _share(sum(r["undetected_own"] for r in part), sum(r["sets_own"] for r in part)),
                _share(sum(r["poison_removed"] for r in part), sum(r["poison"] for r in part)),
                _share(sum(r["benign_removed"] for r in part), sum(r["benign"] for r in part)),
            )
        )
    return Table(
        f"What adaptive attacks cost, {embedder}, all k",
        (
            "attack",
            "planted",
            "similarity lost",
            "questions to the guard",
            "p-value",
            "undetected",
            "undetected, own calibration",
            "poison removed",
            "benign removed",
        ),
        tuple(lines),
    )


def _range(values: Sequence[float], form: str) -> str:
    """Return the least and the greatest of the settings' medians."""
    if not values:
        return "-"
    least, most = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == most else f"{least} to {most}"


def _denial(rows: Sequence[Row]) -> Table:
    cells = {(r["embedder"], r["planted"], _setting(r), r["decoys"]): r for r in rows}
    strata = list(dict.fromkeys(key[:-1] for key in cells))
    lines = []
    for stratum in strata:
        both = [cells[*stratum, decoys] for decoys in ("copies", "best")]
        lines.append(
            (
                *map(str, stratum),
                str(both[0]["targets"]),
                " / ".join(_share(row["pushed_out"], row["targets"]) for row in both),
                " / ".join(_share(row["golden_removed"], row["golden"]) for row in both),
                " / ".join(_share(row["golden_reaching"], row["targets"]) for row in both),
                " / ".join(_share(row["benign_removed"], row["benign"]) for row in both),
            )
        )
    return Table(
        "Denial by copies of the answering passage: question in front / most harmful of four",
        (
            "embedder",
            "planted",
            "setting",
            "questions",
            "answer pushed out",
            "answer removed by the guard",
            "answer reaches the generator",
            "benign removed",
        ),
        tuple(lines),
    )


def _tracing(rows: Sequence[Row]) -> Table:
    return Table(
        "What attribution finds of attacks that were not detected, k = 5",
        (
            "attack",
            "embedder",
            "planted",
            "reports",
            "poison blamed",
            "all of it blamed",
            "over after quarantine",
            "anything benign blamed",
        ),
        tuple(
            (
                row["attack"],
                row["embedder"],
                str(row["planted"]),
                str(row["events"]),
                _share(row["blamed"], row["poison"]),
                _share(row["traced"], row["events"]),
                _share(row["over"], row["events"]),
                _share(row["benign_blamed"], row["events"]),
            )
            for row in sorted(
                rows, key=lambda r: (_ORDER.index(r["attack"]), r["embedder"], r["planted"])
            )
            if row["events"]
        ),
    )
