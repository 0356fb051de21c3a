"""The demo's report for people, on any rich console."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragguard.demo.report import Asked, DemoReport, FilterExample, TraceExample

__all__ = ["show"]

_SHOWN = 8
_EXCERPT = 72


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

    asked = len(report.asked)
    console.print(Text("ragguard demo: poison a knowledge base, and close the loop", style="bold"))
    stage("A clean knowledge base")
    _line(console, f"{report.passages} passages about the Skerrin Isles, which do not exist.")
    _line(console, f"{asked} questions, read from the best {report.read} passages: ", end="")
    _line(console, f"{report.clean_wrong} answered wrong (the reader is no language model).")
    _line(
        console, f"The filter touches {report.clean_touched} of {asked} clean questions, ", end=""
    )
    _line(console, f"and {report.paraphrases_touched} of {asked} in other words.")
    stage("An attacker plants false passages")
    _line(console, f"{report.planted} passages, in eight manners, 1 to 5 for each question.")
    _line(console, f"Without ragguard: {report.poisoned_wrong} of {asked} answered wrong.")
    stage("The filter stands between retriever and reader")
    _line(console, f"With the filter: {report.filtered_wrong} of {asked} answered wrong.")
    if report.filter_example is not None:
        _show_filter(console, report.filter_example)
    stage("Users report wrong answers; attribution searches the knowledge base")
    reports = sum(one.reports for one in report.asked)
    traced = report.traced_planted + report.traced_benign
    _line(console, f"{reports} answers reported in {report.rounds} rounds; ", end="")
    _line(console, f"{traced} passages held responsible and put into quarantine.")
    _line(console, f"Precision {report.precision:.0%}: {report.traced_planted} ", end="")
    _line(console, f"of {traced} were planted.")
    _line(
        console,
        f"Of the {report.traced_benign} others, {report.traced_benign_misled} for answers "
        "that were right before the attack, the rest for the reader's own mistakes.",
    )
    _line(console, f"Recall {report.recall:.0%}: {report.traced_planted} ", end="")
    _line(console, f"of the {report.reported_planted} planted for reported questions.")
    if report.trace_example is not None:
        _show_trace(console, report.trace_example)
    stage("Asked again")
    _line(console, f"With filter and quarantine: {report.final_wrong} of {asked} answered wrong.")
    _line(console, f"With the quarantine alone: {report.quarantine_only_wrong} of {asked}.")
    _line(
        console,
        "A second guard on the same store, such as after a restart, drops "
        f"{report.second_guard_dropped} passages for being in quarantine.",
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


def _line(console: Console, text: str, *, end: str = "\n") -> None:
    console.print(Text(text), end=end)


def _show_filter(console: Console, example: FilterExample) -> None:
    console.print()
    _line(console, f"  Question  {example.question}")
    _line(console, f"  Without   {example.without}   (right: {example.correct_answer})")
    _line(console, f"  With      {example.with_filter}")
    for passage in example.passages:
        fate = "dropped" if passage.dropped else "kept"
        origin = "planted" if passage.planted else "genuine"
        head = f"[{fate}, {origin}] {passage.reason}".rstrip()
        console.print(Padding(Text(head, style="red" if passage.dropped else "green"), (0, 2)))
        text = passage.text if passage.dropped else _excerpt(passage.text)
        console.print(Padding(Text(text, style="dim"), (0, 4)))


def _show_trace(console: Console, example: TraceExample) -> None:
    console.print()
    _line(console, f"  Question  {example.question}")
    _line(console, f"  Reported  {example.response}   (right: {example.correct_answer})")
    _line(console, f"  Cause     {example.cause}: {example.reason}")
    _line(console, f"  Now       {example.after}")
    table = Table("passage", title="The most responsible passages in scope")
    for name in ("ES", "SC", "GC", "RS"):
        table.add_column(name, justify="right")
    table.add_column("held")
    table.add_column("planted")
    for passage in example.passages[:_SHOWN]:
        table.add_row(
            Text(_excerpt(passage.text)),
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
    _line(console, "  ES similarity to the question, SC and GC log-probability of question and")
    _line(console, "  response (nats per token), RS responsibility.")


def _excerpt(text: str) -> str:
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 3] + "..."


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
