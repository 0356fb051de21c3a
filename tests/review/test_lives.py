"""The life of a false positive and of a true one by the page's forms, without a browser."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from ragguard import Guard, Passage
from ragguard.audit import open_store
from ragguard.audit.trail import Keys
from ragguard.audit.trail_check import check
from ragguard.knowledge.memory import KnowledgeBase
from tests.processes import eventually

from .browser import browser, press, read
from .conftest import FACTS, LIE, QUERY

ANOTHER = "Which storms were great?"
LIES = [
    Passage(f"{QUERY} {LIE}", id="x"),
    Passage(f"{QUERY} In 1921, records say. {LIE}", id="y"),
    Passage(f"{QUERY} {LIE} It was lit in 1921, the year of the great storm.", id="z"),
]
PAGES = [Passage(text, id=f"fact-{n}") for n, text in enumerate(FACTS)]
OTHERS = [Passage(f"Parish {n} keeps a register of boats and nets.") for n in range(12)]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "audit.db")


@pytest.fixture
def store(path):
    opened = open_store(path)
    yield opened
    opened.close()


@pytest.fixture
def client(store):
    return browser(store)


def drops(path, query, *passages):
    """Return the ids that a guard of its own on the same store drops."""
    with Guard(store=path) as guard:
        return [one.id for one in guard.filter(query, [*passages, *PAGES]).dropped]


def reasons(store):
    return [one.told["said"] for one in store.trail() if "said" in one.told]


@pytest.mark.slow
def test_a_true_positive_is_reported_proposed_confirmed_held_edited_and_released(
    client, store, path
):
    base = KnowledgeBase([*PAGES, *OTHERS, *LIES])
    edited = Passage(LIES[2].text.replace("It was lit", "It was lt") + " Indeed.", id="new")
    assert drops(path, ANOTHER, edited) == []
    with Guard(store=path, retrieve=base) as guard:
        event = guard.report(QUERY, LIE, reporter="bob", wait=True)
        guard.attribution(event, timeout=60)
        eventually(lambda: len(guard.proposals()) == len(LIES), seconds=30)
    assert drops(path, ANOTHER, edited) == []  # a report alone holds nothing

    assert "by bob" in read(client.get("/")).words
    assert "1921" in read(client.get(f"/event?id={quote(event)}")).words
    assert press(client, "/", "confirm", why="the archive says 1874").status_code == 303
    assert "Nothing waits for you" in read(client.get("/")).words
    assert drops(path, ANOTHER, edited, LIES[2]) == ["new", "z"]

    held = next(one for one in store.quarantine() if one.passage_id == "z")
    press(client, f"/entry?key={held.key}", "release", why="a mistake after all")
    assert drops(path, ANOTHER, LIES[2]) == []
    assert drops(path, QUERY, LIES[2]) == []  # allowed now, though it begins with the question
    assert reasons(store) == ["the archive says 1874"] * 3 + ["a mistake after all"]
    assert check(store, Keys()).findings == ()


def test_a_false_positive_is_seen_and_allowed_and_kept_until_it_is_taken_off(client, store, path):
    faq = Passage(f"{QUERY} Our archive keeps a letter about it.", id="our-faq")
    assert drops(path, QUERY, faq) == ["our-faq"]
    (row,) = store.verdicts()
    seen = read(client.get("/verdicts")).words + read(client.get(f"/verdict?id={row.id}")).words
    assert "our-faq" in seen
    assert "it begins or ends with the question" in seen

    key = row.passages[0].key
    press(client, f"/verdict?id={row.id}", "allow", why="our own page", key=key)
    assert drops(path, QUERY, faq) == []
    assert "our own page" in read(client.get("/allowed")).words

    press(client, "/allowed", "disallow", why="it has changed")
    assert drops(path, QUERY, faq) == ["our-faq"]
    assert reasons(store) == ["our own page", "it has changed"]
    assert check(store, Keys()).findings == ()


def test_of_two_people_who_decide_at_the_same_moment_the_first_one_counts(
    client, store, monkeypatch
):
    with Guard(store=store, policy="review") as guard:
        event = guard.report(QUERY, LIE, passages=[*LIES, *PAGES], wait=True)
        guard.attribution(event, timeout=60)
        eventually(guard.proposals, seconds=30)
    key, look = store.quarantine()[0].key, type(store).quarantine

    def looked(self, **asked):
        found = look(self, **asked)
        if asked.get("keys"):  # bo is faster, once ann's form was found to be up to date
            monkeypatch.undo()
            store.set_quarantine_status(key, "rejected", actor="bo")
        return found

    page = read(client.get("/"))
    form = next(form for form in page.forms if "confirm" in form["do"])
    given = {name: value for name, value in form["fields"] if name not in ("key", "why")}
    monkeypatch.setattr(type(store), "quarantine", looked)
    sent = {**given, "key": key, "why": "so", "do": "confirm"}
    late = client.post(form["action"], data=sent)
    assert late.status_code == 400
    assert "is rejected, and only what is proposed" in read(late).words
    (entry,) = store.quarantine(keys=[key])
    assert (entry.status, entry.actor) == ("rejected", "bo")
