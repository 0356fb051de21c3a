"""What a person says who decides through a guard is kept in the trail, as the command line does."""

import pytest

from ragguard import Guard, Passage
from ragguard.audit import QuarantineEntry, open_store
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.repair import restore

TEXTS = ("The pier was built by Bob Crane.", "The pier is made of glass.", "The pier has sunk.")
WHY = "the archive says 1874 \u202e\x00\ud800"


@pytest.fixture(params=["memory", "sqlite"])
def guard(request, tmp_path):
    store = open_store(None if request.param == "memory" else str(tmp_path / "audit.db"))
    entries = [
        QuarantineEntry(content_key(one), f"{n}", one, "r", "e", "proposed", reporters=("ann",))
        for n, one in enumerate(TEXTS)
    ]
    store.add_quarantine(entries)
    with Guard(store=store) as made:
        yield made
    store.close()


def told(guard, before=0):
    """Return who did what, and why they say they did, of what a person did last, or before that."""
    row = guard.store.newest_trail(before + 1)[0]
    return row.action, row.actor, row.told.get("said")


@pytest.mark.slow
@pytest.mark.parametrize("why", [WHY, None])
def test_a_reason_is_told_by_the_trail(guard, why):
    said = {"why": why, "actor": "bo"}
    guard.confirm("0", **said)
    assert told(guard) == ("quarantine.confirmed", "bo", why)
    guard.release("0", **said)
    assert told(guard) == ("quarantine.released", "bo", why)
    guard.reject("1", **said)
    assert told(guard) == ("quarantine.rejected", "bo", why)
    guard.disallow(Passage(TEXTS[0]), **said)
    assert told(guard) == ("quarantine.rejected", "bo", why)
    guard.allow("wiki", why="ours", actor="bo")
    guard.disallow("wiki", **said)
    assert told(guard) == ("allow-list.ended", "bo", why)
    assert [one.passage_id for one in guard.undo(event="e", **said)] == ["2"]
    assert told(guard) == ("quarantine.lapsed", "bo", why)
    restore(guard.store, KnowledgeBase([]), [content_key(TEXTS[2])], **said)
    assert told(guard, before=1) == ("quarantine.released", "bo", why)
    assert told(guard) == ("knowledge-base.restored", "bo", why)
    guard.quarantine(TEXTS[2], why="an attack", actor="bo")
    assert told(guard) == ("quarantine.confirmed", "bo", "an attack")


def test_what_was_put_in_by_its_text_is_taken_out_by_it():
    with Guard() as guard:
        guard.quarantine("Who built the pier? Bob Crane built it.", why="it lies")
        assert guard.release("Who built the pier?  Bob Crane built it.").status == "released"


def test_what_is_no_reason_is_refused_before_anything_changes(guard):
    before = guard.store.quarantine()
    for decide in (guard.confirm, guard.reject, guard.release, guard.disallow):
        with pytest.raises(InvalidInputError, match="why must be a str or None"):
            decide("0", why=3)
    with pytest.raises(InvalidInputError, match="why must be a str or None"):
        guard.undo(event="e", why=["because"])
    assert guard.store.quarantine() == before


@pytest.mark.parametrize("by_event", [True, False])
def test_who_confirms_hears_that_its_source_is_allowed(tmp_path, caplog, by_event):
    lie = Passage("Marek Dove built it.", id="d1", metadata={"source": "handbook"})
    with Guard(store=str(tmp_path / "a.db")) as guard:
        guard.allow("handbook", why="only we write it", actor="bo")
        guard.protect("archive", why="curated")
        if by_event:
            seen = [lie, "Geese nest on the fort."]
            event = guard.report("who built it", "Marek Dove", passages=seen, wait=True)
            guard.attribution(event, timeout=60)
            entry = guard.confirm(guard.proposals()[0])
        else:
            entry = guard.quarantine(lie, why="planted")
        told = f'{entry.key[:12]} is confirmed, but its source "handbook" is allowed, so it is not'
        assert told in caplog.text
        assert guard.filter("a pier", [lie]).dropped == []
        guard.disallow("handbook")
        caplog.clear()
        guard.confirm(lie)
        guard.quarantine(Passage("Built by M. Dove.", metadata={"source": "archive"}), why="so")
        assert "is allowed" not in caplog.text
        assert guard.filter("a pier", [lie]).dropped == [lie]
