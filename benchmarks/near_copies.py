"""How well quarantine holds: edited copies of poison, and honest pages like it.

Of every question two texts of each kind of attack are quarantined, with the question in front and
without, and come back edited: by hand, and by a report that clears the rest of its scope, fifteen
honest pages and three planted texts that were not found. Honest pages are asked for beside all of
these texts of a kind, and beside another page of their set that was wrongly quarantined: by a
report, and by hand, which clears nothing. A page that says the same text again counts by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from random import Random
from string import ascii_lowercase

import numpy as np

from benchmarks.command import Choose, Data, Limit, Measured, command
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.metrics.outcomes import Counts
from benchmarks.report.table import Rows, Sections, Table, listed, ratio
from ragguard.attribution.ragorigin.scope import MIN_SCOPE
from ragguard.content import content_key
from ragguard.inline.fingerprints import fingerprints, signature
from ragguard.inline.near_copies import NearCopies
from ragguard.text import sentences, tokens

_BLAMED, _PLANTED, _SEED = 2, 5, 0
_FIRST = 10  # pages of a set are taken for wrongly quarantined
_LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7"}

Edit = Callable[[str, str, Random], str]
"""Edits a text, which it may mix with an honest page; the same where there is nothing to edit."""


def _typo(text: str, _: str, draw: Random) -> str:
    places = [place for place, letter in enumerate(text) if letter.isalpha()]
    if not places:
        return text
    place = draw.choice(places)
    others = ascii_lowercase.replace(text[place].lower(), "")
    wrong = draw.choice(["", text[place] * 2, draw.choice(others)])
    return text[:place] + wrong + text[place + 1 :]


def _entity(text: str, _: str, draw: Random) -> str:
    place = draw.randrange(len(text))
    return f"{text[:place]}&#{ord(text[place])};{text[place + 1 :]}"


def _doubled(text: str, _: str, draw: Random) -> str:
    words = text.split()
    place = draw.randrange(len(words))
    return " ".join([*words[: place + 1], *words[place:]])


def _swapped(text: str, _: str, draw: Random) -> str:
    parts = sentences(text)
    if len(parts) < 2:
        return text
    place = draw.randrange(len(parts) - 1)
    parts[place : place + 2] = parts[place + 1], parts[place]
    return " ".join(parts)


def _leet(text: str, _: str, draw: Random) -> str:
    return "".join(
        draw.choice(_LEET[one.lower()]) if one.lower() in _LEET and draw.random() < 0.7 else one
        for one in text
    )


def _border(text: str, page: str, draw: Random) -> str:
    words, others = text.split(), page.split()
    kept = max(1, round(len(words) * draw.uniform(0.5, 0.9)))
    rest = len(words) - kept
    if draw.random() < 0.5:
        return " ".join([*others[len(others) - rest :], *words[:kept]])
    return " ".join([*words[-kept:], *others[:rest]])


EDITS: Mapping[str, Edit] = {
    "one word appended": lambda text, _, draw: f"{text} {draw.choice(['indeed', 'today'])}",
    "list number in front": lambda text, _, draw: f"{draw.randint(1, 20)}. {text}",
    "one typo": _typo,
    "HTML entity": _entity,
    "other chunk boundary": _border,
    "leet": _leet,
    "doubled word": _doubled,
    "swapped sentences": _swapped,
    "overlap of 20 characters": lambda text, page, draw: (
        f"{page[-20:]} {text}" if draw.random() < 0.5 else f"{text} {page[:20]}"
    ),
    "inside a page": lambda text, page, _: f"{page} {text} {page}",
}


def updated(page: str, draw: Random) -> str:
    """Return a page with a sentence more, or another one in place of one of its own."""
    parts = sentences(page)
    new = f"This section was revised in {draw.randint(2015, 2025)} after a letter from a reader."
    place = draw.randrange(len(parts))
    parts[place : place + draw.randint(0, 1)] = [new]
    return " ".join(parts)


def run(datasets: Sequence[Dataset], *, choosing: bool) -> Rows:
    """Return a row for every edit and kind of honest page: how many, and how many are held."""
    rows, draw = Counts("texts", "held"), Random(_SEED)
    for dataset in datasets:
        for record in dataset.choosing if choosing else dataset.report:
            for part, name, held in [*_edited(record, draw), *_honest(record, draw)]:
                rows.add({"part": part, "name": name}, {"texts": 1, "held": held})
    return rows.rows()


def _index(texts: Sequence[str], cleared: Sequence[str] = ()) -> NearCopies:
    said = [np.unique(fingerprints(cleared).hashes)] if cleared else []
    return NearCopies().changed({content_key(text): signature(text, said) for text in texts})


def _planted(record: Record) -> Iterator[tuple[str, list[str]]]:
    for kind, texts in record.poison.items():
        some = [text for text in dict.fromkeys(texts) if text.strip()][:_BLAMED]
        yield kind, [*some, *[f"{record.question} {text}" for text in some]]


def _edited(record: Record, draw: Random) -> Iterator[tuple[str, str, bool]]:
    for kind, texts in _planted(record):
        cleared = [*record.hits[: MIN_SCOPE - _PLANTED], *record.poison[kind][_BLAMED:_PLANTED]]
        for text in texts:
            for part, others in (("edited", []), ("edited, others cleared", cleared)):
                index = _index([text], others)
                for name, edit in EDITS.items():
                    copy = edit(text, draw.choice(record.hits), draw)
                    if copy != text:
                        same = content_key(copy) == content_key(text)
                        yield part, name, same or index.find([copy])[0] is not None


def _honest(record: Record, draw: Random) -> Iterator[tuple[str, str, bool]]:
    pages = list({content_key(text): text for text in record.hits}.values())
    shown, beyond = pages[:MIN_SCOPE], pages[MIN_SCOPE : 2 * MIN_SCOPE]
    beside = shown[: MIN_SCOPE - _PLANTED]
    for kind, texts in _planted(record):
        for name, cleared in (("cleared", beside), ("not cleared", ())):
            index = _index(texts, cleared)
            asked = [*shown, *beyond, *[updated(page, draw) for page in beside]]
            for copy in index.find(asked):
                yield f"honest beside poison, {name}", kind, copy is not None
    for page in shown[:_FIRST]:
        others = [other for other in shown if other != page]
        by_report, by_hand = _index([page], others), _index([page])
        newer = [updated(other, draw) for other in others]
        again = [other for other in others if _says_again(page, other)]
        for name, index, asked in (
            ("in the set that the report clears", by_report, others),
            ("the same, updated", by_report, newer),
            ("beyond that set", by_report, beyond),
            ("put there by hand", by_hand, [other for other in others if other not in again]),
            ("the same text again", by_hand, again),
            ("its own updated version", by_hand, [updated(page, draw)]),
        ):
            for copy in index.find(asked):
                yield "honest beside a wrongly quarantined page", name, copy is not None


def _says_again(page: str, other: str) -> bool:
    """Return whether a page is on another one: at least half of its words stand there in one run.

    Where each has a number that the other has not, they are two pages all the same.
    """
    words, others = tokens(page), tokens(other)
    run = SequenceMatcher(None, words, others, autojunk=False).find_longest_match()
    if 2 * run.size < len(words):
        return False
    numbers, other_numbers = ({word for word in of if word.isdigit()} for of in (words, others))
    return numbers <= other_numbers or other_numbers <= numbers


def tables(sections: Sections) -> Iterator[Table]:
    yield listed(
        "What quarantine holds back besides the very same text",
        sorted(sections["near_copies"], key=lambda row: str(row["part"])),
        {"of": "part", "which": "name", "texts": "texts", "held back": ratio("held", "texts")},
    )


@command(tables)
def main(data: Data, limit: Limit = None, choose: Choose = False) -> Measured:
    datasets = [one.limited(limit) for one in load_folder(data)]
    return {"near_copies": run(datasets, choosing=choose)}, datasets
