"""The demo's report for people, on any rich console."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping
from itertools import count

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragguard.demo.report import Asked, DemoReport, FilterExample, TraceExample

__all__ = ["show"]

_SHOWN = 8
_SCORES_WIDTH = 54  # columns that the table of scores takes beside the passages
_LEAST_EXCERPT = 20


def show(report: DemoReport, console: Console) -> None:
    """Write the report: the stages in order, two worked examples, and the figures.

    Args:
        report: What `run_demo` returned.
        console: Where to write.
    """
    number = count(1)

    def stage(title: str) -> None:
        console.print()
        console.print(Text(f"{next(number)}. {title}", style="bold"))

    def line(text: str) -> None:
        console.print(Text(text))

    asked = len(report.asked)
    console.print(Text("ragguard demo: poison a knowledge base, and close the loop", style="bold"))
    stage("A clean knowledge base")
    line(f"{report.passages} passages about the Skerrin Isles, which do not exist.")
    line(
        f"{asked} questions, read from the best {report.read} passages: {report.clean_wrong} "
        "answered wrong, since the reader is no language model."
    )
    line(
        f"The filter touches {report.clean_touched} of {asked} clean questions, and "
        f"{report.paraphrases_touched} of {asked} in other words. Many of these pages repeat a "
        "user's question, as an FAQ does, and carry an attack's mark by that. A guard that was "
        "calibrated on such traffic (`ragguard calibrate`) touches about one in a hundred."
    )
    stage("An attacker plants false passages")
    line(f"{report.planted} passages, in eight manners, 1 to 5 for each question.")
    line(f"Without ragguard: {report.poisoned_wrong} of {asked} answered wrong.")
    stage("The filter stands between retriever and reader")
    line(f"With the filter: {report.filtered_wrong} of {asked} answered wrong.")
    if report.filter_example is not None:
        _show_filter(console, report.filter_example)
    stage("Users report wrong answers; attribution searches the knowledge base")
    reports = sum(one.reports for one in report.asked)
    traced = report.traced_planted + report.traced_benign
    line(
        f"{reports} answers reported in {report.rounds} rounds; {traced} passages held responsible "
        "and put into quarantine."
    )
    line(f"Precision {report.precision:.0%}: {report.traced_planted} of {traced} were planted.")
    line(
        f"Of the {report.traced_benign} others, {report.traced_benign_misled} for answers "
        "that were right before the attack, the rest for the reader's own mistakes."
    )
    line(
        f"Recall {report.recall:.0%}: {report.traced_planted} of the {report.reported_planted} "
        "planted for reported questions."
    )
    if report.trace_example is not None:
        _show_trace(console, report.trace_example)
    stage("Asked again")
    line(f"With filter and quarantine: {report.final_wrong} of {asked} answered wrong.")
    line(f"With the quarantine alone: {report.quarantine_only_wrong} of {asked}.")
    line(
        "A second guard on the same store, such as after a restart, drops "
        f"{report.second_guard_dropped} passages for being in quarantine."
    )
    stage("By attack")
    console.print(_by_attack(report.asked))
    verdict = "The loop closed" if report.worked else "The loop did not close"
    console.print()
    console.print(
        Text(
            f"{verdict}: {report.clean_wrong} wrong answers before the attack, "
            f"{report.poisoned_wrong} after it, {report.filtered_wrong} with the filter, "
            f"{report.final_wrong} with filter and quarantine ({report.seconds:.1f} s).",
            style="bold green" if report.worked else "bold red",
        )
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


def _show_filter(console: Console, example: FilterExample) -> None:
    _facts(
        console,
        {
            "Question": example.question,
            "Without": f"{example.without}   (right: {example.correct_answer})",
            "With": example.with_filter,
        },
    )
    above = ""
    for passage in example.passages:
        fate = "dropped" if passage.dropped else "kept"
        origin = "planted" if passage.planted else "genuine"
        reason = "as above" if passage.reason and passage.reason == above else passage.reason
        above = passage.reason
        head = f"[{fate}, {origin}] {reason}".rstrip()
        console.print(Padding(Text(head, style="red" if passage.dropped else "green"), (0, 2)))
        whole = passage.dropped
        text = passage.text if whole else _excerpt(passage.text, console.width - 8)
        console.print(Padding(Text(text, style="dim"), (0, 4)))


def _show_trace(console: Console, example: TraceExample) -> None:
    _facts(
        console,
        {
            "Question": example.question,
            "Reported": f"{example.response}   (right: {example.correct_answer})",
            "Cause": f"{example.cause}: {example.reason}",
            "Now": example.after,
        },
    )
    _facts(
        console,
        {
            "ES": "how similar a passage is to the question (cosine)",
            "SC": "how well it predicts the question (log-probability, nats a token)",
            "GC": "how well it predicts the response (log-probability, nats a token)",
            "RS": "its responsibility, from these three",
        },
    )
    table = Table(title="The most responsible passages in scope")
    table.add_column("passage", no_wrap=True)
    for name in ("ES", "SC", "GC", "RS"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("held", no_wrap=True)
    table.add_column("planted", no_wrap=True)
    for passage in example.passages[:_SHOWN]:
        table.add_row(
            Text(_excerpt(passage.text, console.width - _SCORES_WIDTH)),
            *(
                f"{score:.2f}"
                for score in (
                    passage.embedding_similarity,
                    passage.semantic_correlation,
                    passage.generation_influence,
                    passage.responsibility,
                )
            ),
            "yes" if passage.responsible else "no",
            "yes" if passage.planted else "no",
            style="red" if passage.responsible else None,
        )
    console.print(table)


def _excerpt(text: str, columns: int) -> str:
    """Return how a text begins, on one line of so many columns, cut between words."""
    return textwrap.shorten(text, max(columns, _LEAST_EXCERPT), placeholder=" ...")


def _by_attack(asked: tuple[Asked, ...]) -> Table:
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        groups[f"{one.attack}, {one.form}, {one.planted}"].append(one)
    table = Table("attack, form, passages", title="Wrong answers")
    for name in ("asked", "clean", "poisoned", "filter", "and quarantine", "traced"):
        table.add_column(name, justify="right")
    for name, group in groups.items():
        planted = sum(one.planted for one in group if one.reports)
        table.add_row(
            name,
            str(len(group)),
            str(sum(not one.clean_right for one in group)),
            str(sum(not one.poisoned_right for one in group)),
            str(sum(not one.filtered_right for one in group)),
            str(sum(not one.final_right for one in group)),
            f"{sum(one.traced_planted for one in group)} of {planted}",
        )
    return table
