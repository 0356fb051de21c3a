"""The demo's report for people, on any rich console."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["show"]

_SHOWN = 8
_SCORES_WIDTH = 54  # columns that the table of scores takes beside the passages
_LEAST_EXCERPT = 20
_SCORES = (
    ("ES", "embedding_similarity", "how similar a passage is to the question (cosine)"),
    (
        "SC",
        "semantic_correlation",
        "how well it predicts the question (log-probability, nats a token)",
    ),
    (
        "GC",
        "generation_influence",
        "how well it predicts the response (log-probability, nats a token)",
    ),
    ("RS", "responsibility", "its responsibility, from these three"),
)


def show(report: Mapping[str, Any], console: Console) -> None:
    """Write the report: the stages in order, two worked examples, and the figures.

    Args:
        report: What `run_demo` returned.
        console: Where to write.
    """
    number = count(1)

    def stage(title: str) -> None:
        console.print()
        console.print(Text(f"{next(number)}. {title}", style="bold"))

    figures = {
        **report,
        "asked": len(report["asked"]),
        "reports": sum(one["reports"] for one in report["asked"]),
        "traced": report["traced_planted"] + report["traced_benign"],
    }

    def line(text: str, style: str = "") -> None:
        console.print(Text(text.format_map(figures), style=style))

    console.print(Text("ragguard demo: poison a knowledge base, and close the loop", style="bold"))
    stage("A clean knowledge base")
    line("{passages} passages about the Skerrin Isles, which do not exist.")
    line(
        "{asked} questions, read from the best {read} passages: {clean_wrong} "
        "answered wrong, since the reader is no language model."
    )
    line(
        "The filter touches {clean_touched} of {asked} clean questions, and "
        "{paraphrases_touched} of {asked} in other words. Many of these pages repeat a "
        "user's question, as an FAQ does, and carry an attack's mark by that. A guard that was "
        "calibrated on such traffic (`ragguard calibrate`) touches about one in a hundred."
    )
    stage("An attacker plants false passages")
    line("{planted} passages, in eight manners, 1 to 5 for each question.")
    line("Without ragguard: {poisoned_wrong} of {asked} answered wrong.")
    stage("The filter stands between retriever and reader")
    line("With the filter: {filtered_wrong} of {asked} answered wrong.")
    if report["filter_example"] is not None:
        _show_filter(console, report["filter_example"])
    stage("Users report wrong answers; attribution searches the knowledge base")
    line(
        "{reports} answers reported in {rounds} rounds; {traced} passages held responsible "
        "and put into quarantine."
    )
    line("Precision {precision:.0%}: {traced_planted} of {traced} were planted.")
    line(
        "Of the {traced_benign} others, {traced_benign_misled} for answers "
        "that were right before the attack, the rest for the reader's own mistakes."
    )
    line(
        "Recall {recall:.0%}: {traced_planted} of the {reported_planted} "
        "planted for reported questions."
    )
    if report["trace_example"] is not None:
        _show_trace(console, report["trace_example"])
    stage("Asked again")
    line("With filter and quarantine: {final_wrong} of {asked} answered wrong.")
    line("With the quarantine alone: {quarantine_only_wrong} of {asked}.")
    line(
        "A second guard on the same store, such as after a restart, drops "
        "{second_guard_dropped} passages for being in quarantine."
    )
    stage("By attack")
    console.print(_by_attack(report["asked"]))
    console.print()
    line(
        ("The loop closed" if report["worked"] else "The loop did not close")
        + ": {clean_wrong} wrong answers before the attack, {poisoned_wrong} after it, "
        "{filtered_wrong} with the filter, {final_wrong} with filter and quarantine "
        "({seconds:.1f} s).",
        style="bold green" if report["worked"] else "bold red",
    )
    line(
        "Next: put a Guard between your own retriever and generator (README.md, Quickstart), or "
        "judge what your retriever returned by `ragguard filter traffic.jsonl` (docs/cli.md)."
    )


def _facts(console: Console, facts: Mapping[str, str]) -> None:
    """Write names and what they stand for in two columns, so that long ones wrap below them."""
    console.print()
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(Text(name), Text(value))
    console.print(Padding(grid, (0, 2)))


def _show_filter(console: Console, example: Mapping[str, Any]) -> None:
    _facts(
        console,
        {
            "Question": example["question"],
            "Without": f"{example['without']}   (right: {example['correct_answer']})",
            "With": example["with_filter"],
        },
    )
    above = ""
    for passage in example["passages"]:
        dropped, reason = passage["dropped"], passage["reason"]
        head = f"[{'dropped' if dropped else 'kept'}, "
        head += f"{'planted' if passage['planted'] else 'genuine'}] "
        head += "as above" if reason and reason == above else reason
        above = reason
        style = "red" if dropped else "green"
        console.print(Padding(Text(head.rstrip(), style=style), (0, 2)))
        text = passage["text"] if dropped else _excerpt(passage["text"], console.width - 8)
        console.print(Padding(Text(text, style="dim"), (0, 4)))


def _show_trace(console: Console, example: Mapping[str, Any]) -> None:
    _facts(
        console,
        {
            "Question": example["question"],
            "Reported": f"{example['response']}   (right: {example['correct_answer']})",
            "Cause": f"{example['cause']}: {example['reason']}",
            "Now": example["after"],
        },
    )
    _facts(console, {name: meaning for name, _, meaning in _SCORES})
    table = Table(title="The most responsible passages in scope")
    table.add_column("passage", no_wrap=True)
    for name, _, _ in _SCORES:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("held", no_wrap=True)
    table.add_column("planted", no_wrap=True)
    for passage in example["passages"][:_SHOWN]:
        table.add_row(
            Text(_excerpt(passage["text"], console.width - _SCORES_WIDTH)),
            *(f"{passage[field]:.2f}" for _, field, _ in _SCORES),
            "yes" if passage["responsible"] else "no",
            "yes" if passage["planted"] else "no",
            style="red" if passage["responsible"] else None,
        )
    console.print(table)


def _excerpt(text: str, columns: int) -> str:
    """Return how a text begins, on one line of so many columns, cut between words."""
    return textwrap.shorten(text, max(columns, _LEAST_EXCERPT), placeholder=" ...")


def _by_attack(asked: Sequence[Mapping[str, Any]]) -> Table:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in asked:
        groups[f"{one['attack']}, {one['form']}, {one['planted']}"].append(one)
    table = Table("attack, form, passages", title="Wrong answers")
    for name in ("asked", "clean", "poisoned", "filter", "and quarantine", "traced"):
        table.add_column(name, justify="right")
    for name, group in groups.items():
        wrong = [
            str(sum(not one[f"{stage}_right"] for one in group))
            for stage in ("clean", "poisoned", "filtered", "final")
        ]
        traced = sum(one["traced_planted"] for one in group)
        planted = sum(one["planted"] for one in group if one["reports"])
        table.add_row(name, str(len(group)), *wrong, f"{traced} of {planted}")
    return table
