"""How often the judge of answers errs: its verdicts beside labels given by reading each answer."""

from collections.abc import Mapping
from typing import Any

from benchmarks.report.table import Table, share


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the table of the section "judged".

    Its rows are one an answer, with `right` and `attacked` as it was labelled, and `judged_right`
    and `judged_attacked`.
    """
    rows, body = sections["judged"], []
    for what, name in (("right", "right"), ("the attacker's", "attacked")):
        found = [(bool(row[name]), bool(row[f"judged_{name}"])) for row in rows]
        labelled, said = sum(one for one, _ in found), sum(one for _, one in found)
        both = found.count((True, True))
        missed, wrong = share(labelled - both, labelled), share(said - both, said)
        errors = share(len(found) - both - found.count((False, False)), len(found))
        body.append((what, str(len(found)), str(labelled), str(said), missed, wrong, errors))
    head = ("answer is", "answers", "on reading", "by the judge", "missed", "wrongly so")
    return [Table("The judge beside labels by reading", (*head, "errors"), tuple(body))]
