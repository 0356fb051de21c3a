from __future__ import annotations

import pytest

from ragguard import Passage
from ragguard.admission import Scan, admit
from ragguard.content import content_key
from ragguard.inline.quarantined import Allowed, Quarantined
from ragguard.lru import forget_all
from tests.quarantines import quarantine_of

from .conftest import page


def test_more_than_one_part_is_judged_together_and_in_order(pages):
    found = admit(pages * 2)
    assert [one.passage_id for one in found] == [page.id for page in pages * 2]


def test_what_is_in_quarantine_is_refused_edited_or_not(pages):
    held = quarantine_of([page(1), page(2)])
    found = admit([Passage(page(1)), Passage(page(2) + " And more."), pages[3]], held=held)
    assert [one.status for one in found] == ["refused", "refused", "admitted"]
    assert found[0].reasons == ("it is in quarantine",)
    assert content_key(page(2))[:12] in found[1].reasons[0]


def test_what_a_person_has_said_stands(planted):
    keys = [content_key(one.text) for one in planted]
    allowed = Allowed({keys[0]: float("inf")}, {"handbook": float("inf")})
    own = Passage(planted[1].text, metadata={"source": "handbook"})
    held = Quarantined(spared=frozenset(keys[2:3]), allowed=allowed)
    found = admit([planted[0], own, planted[2], planted[3]], held=held)
    assert [one.status for one in found] == ["admitted", "admitted", "admitted", "review"]
    assert found[0].reasons == ("a person has let it through",)


def test_the_usual_is_learnt_from_what_was_not_refused(pages, planted):
    scan = Scan()
    scan.add(iter([*pages, *planted]))
    found = scan.judged()
    assert len(found) == 304
    assert [one.status for one in found[-4:]] == ["refused"] * 4
    assert scan.usual(found).count == len(found) - sum(one.status == "refused" for one in found)


def test_a_text_that_cannot_be_read_raises(monkeypatch):
    def failing(text):
        raise RuntimeError("no")

    monkeypatch.setattr("ragguard.inline.tokens.strip_markup", failing)
    forget_all()
    with pytest.raises(RuntimeError):
        admit([Passage("a", id="a")])
