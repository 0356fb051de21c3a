"""`ragguard scan`: judge the passages of a knowledge base before they are searchable.

The report for people is one HTML file, which loads nothing and shows texts of strangers as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from html import escape
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

import typer

from ragguard.cli import options
from ragguard.cli.options import flag, option, share
from ragguard.cli.output import FINDING, complain, excerpt, show_table, write_json
from ragguard.cli.traffic import opened_output, opened_traffic, read_with_bar, require_apart
from ragguard.files import passage_from_json, raw_lines, read_lines
from ragguard.inline.quarantined import Quarantined
from ragguard.passage import Passage
from ragguard.text import encodable, printable

if TYPE_CHECKING:
    from ragguard.admission import Admission

SHOWN = 600
"""Characters of a text that the report shows."""

_MOST_SHOWN = 100  # rows of the table
_WORTH_A_LOOK = "review", "refused"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .5rem }
td { border-top: 1px solid #ddd; vertical-align: top; overflow-wrap: anywhere }
.refused { color: #a40000; font-weight: 600 } .review { color: #8a5a00; font-weight: 600 }
ul { margin: 0; padding-left: 1.1rem } details { color: #555 }
"""


def scan(
    source: str = options.source("Passages as JSON lines; - is stdin."),
    alpha: float = share("Share of clean passages that may be refused, in (0, 1).", default=0.001),
    base: Path | None = option("The knowledge base that they join: what --save-base wrote."),
    save_base: Path | None = option("Write here what is usual in these passages."),
    html: Path | None = option("Write a report for people here."),
    store: str | None = options.store(
        "Audit store: what is refused is proposed to a person there."
    ),
    tenant: str | None = options.TENANT,
    fail_on_refused: bool = flag("--fail-on-refused", "Exit with 1 if any passage is refused."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Judge passages before they are searchable: admitted, for review, or refused.

    Each line is a string or {"text", "id", "metadata"}, of which only "text" is
    needed. Nothing is written to a knowledge base: index what is admitted, and leave out what is
    refused until a person has looked at it. With --base passages are compared with a knowledge base
    that was scanned before; without, with each other.
    """
    from ragguard.admission import Scan, as_base, propose

    require_apart({"--save-base": save_base, "--html": html}, source, store, base=base)
    with ExitStack() as opened:
        known, kept, held = as_base(base), None, None
        if store is not None:
            kept = opened.enter_context(options.opened_store(store, access="make", tenant=tenant))
            held = kept.quarantine_changes(-1).applied_to(Quarantined())
        name = "<stdin>" if source == "-" else source
        stream = _twice(opened.enter_context(opened_traffic(source)), name, opened)
        judge = Scan(held)
        size = stream.tell()
        stream.seek(0)
        judge.add(
            passage_from_json(line.value, line.place)
            for line in read_with_bar(stream, name, total=size)
        )
        found = judge.judged(known, alpha=alpha)
        judged = partial(_judged, stream, name, found)
        counts = Counter({"admitted": 0, "review": 0, "refused": 0})
        counts.update(one.status for one in found)
        if save_base is not None:
            judge.usual(found).save(save_base)
        if kept is not None:
            new = propose(
                kept, list(judged("refused")), lambda: (one.text for _, one in judged("admitted"))
            )
            complain(f"new proposals: {new}; decide with: ragguard quarantine confirm, reject")
        if html is not None:
            with opened_output(html) as file:
                write_report(file, name, counts, judged(*_WORTH_A_LOOK))
        _show(counts, judged(*_WORTH_A_LOOK), as_json=as_json)
    if fail_on_refused and counts["refused"]:
        raise typer.Exit(FINDING)


def _twice(stream: BinaryIO, name: str, opened: ExitStack) -> BinaryIO:
    """Return a stream, at its end, that can be read again: texts are not kept in memory."""
    try:
        stream.seek(0, SEEK_END)
    except OSError:  # a pipe, or a file that has no end
        copy = opened.enter_context(TemporaryFile())  # noqa: SIM115
        copy.writelines(raw_lines(stream, name))
        return copy
    return stream


def _judged(
    stream: BinaryIO, name: str, found: list[Admission], *status: str
) -> Iterator[tuple[Admission, Passage]]:
    """Yield the passages of some statuses. Read one such row at a time: they share the stream."""
    stream.seek(0)
    for one, line in zip(found, read_lines(stream, name), strict=True):
        if one.status in status:
            yield one, passage_from_json(line.value, line.place)


def _show(
    counts: Counter[str], found: Iterator[tuple[Admission, Passage]], *, as_json: bool
) -> None:
    if as_json:
        rows = [
            {
                "id": one.passage_id,
                "status": one.status,
                "p_value": one.p_value,
                "reasons": one.reasons,
                "text": passage.text[:200],
            }
            for one, passage in found
        ]
        write_json({**counts, "passages": rows})
        return
    table = []
    for one, passage in found:
        p, why, text = f"{one.p_value:.2g}", "; ".join(one.reasons), excerpt(passage.text, 80)
        table.append([one.passage_id, one.status, p, why, text])
    if table:
        table.sort(key=lambda row: row[1])
        columns = ("passage", "status", "p", "why", "text")
        show_table(columns, table[:_MOST_SHOWN], wrapped=["why", "text"])
    if len(table) > _MOST_SHOWN:
        typer.echo(f"{len(table) - _MOST_SHOWN} more; --html FILE shows all")
    typer.echo(", ".join(f"{count} {status}" for status, count in counts.items()))


def write_report(
    file: IO[str], title: str, counts: Mapping[str, int], found: Iterable[tuple[Admission, Passage]]
) -> None:
    """Write the report of `counts` by status, and of the passages that are worth a look."""
    told = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    file.write(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_shown(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Scan of {_shown(title)}</h1><p>{_shown(told)}</p>"
        "<table><tr><th>status</th><th>passage</th><th>p</th><th>why, and the text</th></tr>\n"
    )
    for admission, passage in found:
        reasons = "".join(f"<li>{_shown(reason)}</li>" for reason in admission.reasons)
        more = "" if len(passage.text) <= SHOWN else " ..."
        file.write(
            f'<tr><td class="{admission.status}">{admission.status}</td>'
            f"<td>{_shown(admission.passage_id)}</td><td>{admission.p_value:.2g}</td>"
            f"<td><ul>{reasons}</ul><details><summary>text</summary>"
            f"{_shown(passage.text[:SHOWN])}{more}</details></td></tr>\n"
        )
    file.write("</table></body></html>\n")


def _shown(text: str) -> str:
    return escape(encodable(printable(text)))
