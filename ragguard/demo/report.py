"""What a run of the demo found: each question, every figure counted from that, and both to read."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragguard.attribution.claim import contains_phrase
from ragguard.attribution.result import Attribution
from ragguard.demo.corpus import Attack, Form, Question
from ragguard.passage import Passage
from ragguard.text import tokens
from ragguard.verdict import Verdict

_STAGES = ("clean", "poisoned", "filtered", "final", "quarantine_only")
_UNIT = "(log-probability, nats a token)"
_SCORES = {
    "ES": ("embedding_similarity", "how similar a passage is to the question (cosine)"),
    "SC": ("semantic_correlation", f"how well it predicts the question {_UNIT}"),
    "GC": ("generation_influence", f"how well it predicts the response {_UNIT}"),
    "RS": ("responsibility", "its responsibility, from these three"),
}
_SHOWN = 8  # passages of the table of scores
_SCORES_WIDTH = 54  # columns that this table takes beside the passages
_LEAST_EXCERPT = 20


def is_right(question: Question, answer: str) -> bool:
    """Return True if the correct answer stands in `answer`, word for word."""
    return contains_phrase(tokens(answer), tokens(question.correct_answer))


@dataclass
class Case:
    """A question under attack, and what happens to it on the way.

    `answers` are by stage: "clean" before the attack, "poisoned" after it without the guard,
    "filtered" with the filter between retriever and reader, "final" after all reports with filter
    and quarantine, "quarantine_only" with that alone.
    """

    question: Question
    attack: Attack
    form: Form
    planted: list[Passage]  # texts of the kind `attack` in this `form`
    answers: dict[str, str] = field(default_factory=dict)
    attributions: dict[str, Attribution] = field(default_factory=dict)  # by what was reported
    verdict: Verdict = field(init=False)  # what the filter said in the stage "filtered"

    @property
    def planted_ids(self) -> set[str]:
        """Ids of what was planted for it."""
        return {passage.id for passage in self.planted}

    def right(self, stage: str) -> bool:
        """Return whether it was answered right in this stage."""
        return is_right(self.question, self.answers.get(stage, ""))

    def dropped(self) -> dict[str, str]:
        """Return the filter's reason for each passage that it dropped, by id."""
        return {one.passage_id: one.reason for one in self.verdict.evidence if one.flagged}

    def to_dict(self) -> dict[str, Any]:
        """Return its figures as plain JSON types."""
        planted, traced, dropped = self.planted_ids, _accused([self]), self.dropped().keys()
        return {
            "question": self.question.text,
            "correct_answer": self.question.correct_answer,
            "attack": self.attack,
            "form": self.form,
            "planted": len(planted),
            **{stage: self.answers.get(stage, "") for stage in _STAGES},
            **{f"{stage}_right": self.right(stage) for stage in _STAGES},
            "dropped_planted": len(dropped & planted),
            "dropped_benign": len(dropped - planted),
            "reports": len(self.attributions),
            "causes": [found.cause for found in self.attributions.values()],
            "traced_planted": len(traced & planted),
            "traced_benign": len(traced - planted),
        }


def _accused(cases: Iterable[Case]) -> set[str]:
    """Return the ids of the passages that attribution accuses in any of the cases."""
    found = (attribution for case in cases for attribution in case.attributions.values())
    return {passage.id for attribution in found for passage in attribution.accused}


def summary(cases: Sequence[Case], *, second_guard_dropped: int, **run: Any) -> dict[str, Any]:
    """Return every figure of a run, as plain JSON types: `run`, with what follows from the cases.

    "asked" holds `Case.to_dict`, and "clean_wrong" and so on count what was answered wrong, by
    stage. What attribution holds responsible is in "traced_planted" and "traced_benign", each
    passage once; of the benign ones, "traced_benign_misled" are not blamed for the reader's own
    mistakes. "precision" and "recall" are over the reported questions. The loop "worked" if fewer
    answers are wrong than before, by the quarantine alone as well.
    """
    planted = {passage_id for case in cases for passage_id in case.planted_ids}
    reported = sum(len(case.planted) for case in cases if case.attributions)
    traced, misled = _accused(cases), _accused(case for case in cases if case.right("clean"))
    hits = len(traced & planted)
    wrong = {stage: sum(not case.right(stage) for case in cases) for stage in _STAGES}
    return {
        **run,
        **{f"{stage}_wrong": count for stage, count in wrong.items()},
        "asked": [case.to_dict() for case in cases],
        "planted": len(planted),
        "reported_planted": reported,
        "traced_planted": hits,
        "traced_benign": len(traced - planted),
        "traced_benign_misled": len(misled - planted),
        "precision": hits / len(traced) if traced else 0.0,
        "recall": hits / reported if reported else 0.0,
        "second_guard_dropped": second_guard_dropped,
        "worked": max(wrong["final"], wrong["quarantine_only"]) < wrong["poisoned"]
        and min(hits, second_guard_dropped) > 0,
    }


_BEFORE_THE_FILTER = """\
[bold]ragguard demo: poison a knowledge base, and close the loop[/]

[bold]1. A clean knowledge base[/]
{passages} passages about the Skerrin Isles, which do not exist.
{asked} questions, read from the best {read} passages: {clean_wrong} answered wrong by \
{reader}.
The filter touches {clean_touched} of {asked} clean questions, and {paraphrases_touched} of \
{asked} in other words. Many of these pages repeat a user's question, as an FAQ does, and carry an \
attack's mark by that. A guard that was calibrated on such traffic (`ragguard calibrate`) touches \
about one in a hundred.

[bold]2. An attacker plants false passages[/]
{planted} passages, in eight manners, 1 to 5 for each question.
Without ragguard: {poisoned_wrong} of {asked} answered wrong.

[bold]3. The filter stands between retriever and reader[/]
With the filter: {filtered_wrong} of {asked} answered wrong."""

_REPORTED = """
[bold]4. Users report wrong answers; attribution searches the knowledge base[/]
{reports} answers reported in {rounds} rounds; {traced} passages held responsible. {at_once} went \
into quarantine at once; {confirmed} were proposed, and confirmed by the operator of the demo.
Precision {precision:.0%}: {traced_planted} of {traced} were planted.
Of the {traced_benign} others, {traced_benign_misled} for answers that were right before the \
attack, the rest for the reader's own mistakes.
Recall {recall:.0%}: {traced_planted} of the {reported_planted} planted for reported questions."""

_AGAIN = """
[bold]5. Asked again[/]
With filter and quarantine: {final_wrong} of {asked} answered wrong.
With the quarantine alone: {quarantine_only_wrong} of {asked}.
A second guard on the same store, such as after a restart, drops {second_guard_dropped} passages \
for being in quarantine.

[bold]6. By attack[/]"""

_CLOSING = """
[{style}]The loop {closed}: {clean_wrong} wrong answers before the attack, {poisoned_wrong} after \
it, {filtered_wrong} with the filter, {final_wrong} with filter and quarantine \
({seconds:.1f} s).[/]
Next: put a Guard between your own retriever and generator (README.md, Use), or judge what \
your retriever returned by `ragguard filter traffic.jsonl` (docs/cli.md)."""


def show(report: Mapping[str, Any], console: Console) -> None:
    """Write what `run_demo` returned: the stages in order, with two worked examples."""
    figures = {
        **report,
        "asked": len(report["asked"]),
        "reports": sum(one["reports"] for one in report["asked"]),
        "traced": report["traced_planted"] + report["traced_benign"],
        "closed": "closed" if report["worked"] else "did not close",
        "style": "bold green" if report["worked"] else "bold red",
    }

    def write(text: str) -> None:
        console.print(Text.from_markup(text.format_map(figures)))

    write(_BEFORE_THE_FILTER)
    if report["filter_example"] is not None:
        _show_filter(console, report["filter_example"])
    write(_REPORTED)
    if report["trace_example"] is not None:
        _show_trace(console, report["trace_example"])
    write(_AGAIN)
    console.print(_by_attack(report["asked"]))
    write(_CLOSING)


def _facts(console: Console, facts: Mapping[str, str]) -> None:
    """Write names and what they stand for in two columns, so that long ones wrap below them."""
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(Text(name), Text(value))
    console.print(Padding(grid, (1, 2, 0, 2)))


def _show_filter(console: Console, example: Mapping[str, Any]) -> None:
    without = f"{example['without']}   (right: {example['correct_answer']})"
    facts = {"Question": example["question"], "Without": without, "With": example["with_filter"]}
    _facts(console, facts)
    above = ""
    for passage in example["passages"]:
        text, reason = passage["text"], passage["reason"]
        fate, style = ("dropped", "red") if passage["dropped"] else ("kept", "green")
        text = text if passage["dropped"] else _excerpt(text, console.width - 8)
        head = f"[{fate}, {'planted' if passage['planted'] else 'genuine'}] "
        head += "as above" if reason and reason == above else reason
        above = reason
        console.print(Padding(Text(head.rstrip(), style=style), (0, 2)))
        console.print(Padding(Text(text, style="dim"), (0, 4)))


def _show_trace(console: Console, example: Mapping[str, Any]) -> None:
    facts = {
        "Question": example["question"],
        "Reported": f"{example['response']}   (right: {example['correct_answer']})",
        "Cause": f"{example['cause']}: {example['reason']}",
        "Now": example["after"],
    }
    _facts(console, facts)
    _facts(console, {name: meaning for name, (_, meaning) in _SCORES.items()})
    table = Table(title="The most responsible passages in scope")
    for name in ("passage", *_SCORES, "held", "planted"):
        table.add_column(name, justify="right" if name in _SCORES else "left", no_wrap=True)
    for passage in example["passages"][:_SHOWN]:
        table.add_row(
            Text(_excerpt(passage["text"], console.width - _SCORES_WIDTH)),
            *(f"{passage[name]:.2f}" for name, _ in _SCORES.values()),
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
        wrong = [str(sum(not one[f"{stage}_right"] for one in group)) for stage in _STAGES[:4]]
        traced = sum(one["traced_planted"] for one in group)
        planted = sum(one["planted"] for one in group if one["reports"])
        table.add_row(name, str(len(group)), *wrong, f"{traced} of {planted}")
    return table
