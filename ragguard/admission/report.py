"""A scan as one HTML file: it loads nothing, and shows texts of strangers as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import IO

from ragguard.admission.judging import Admission
from ragguard.passage import Passage
from ragguard.text import encodable, printable

__all__ = ["SHOWN", "write_report"]

SHOWN = 600
"""Characters of a text that the report shows."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .5rem }
td { border-top: 1px solid #ddd; vertical-align: top; overflow-wrap: anywhere }
.refused { color: #a40000; font-weight: 600 } .review { color: #8a5a00; font-weight: 600 }
ul { margin: 0; padding-left: 1.1rem } details { color: #555 }
"""


def write_report(
    file: IO[str],
    title: str,
    counts: Mapping[str, int],
    found: Iterable[tuple[Admission, Passage]],
) -> None:
    """Write the report, row by row.

    Args:
        file: Opened for text, in UTF-8.
        title: What was scanned.
        counts: How many passages have which status.
        found: Passages that are worth a look, with what was found.
    """
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
