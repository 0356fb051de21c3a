"""The whole life of a positive by commands: of a true one each in a process of its own."""

import json

import pytest

from ragguard.audit import open_store
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.repair import remove_quarantined, restore
from tests.cli.test_loop import LIE, QUERY

LYING = {"id": "x", "text": f"As the harbour board wrote to all of its keepers: {LIE} So it was."}
FACTS = [
    {"id": "a", "text": "The lighthouse at Orrin Head was lit in 1874 by the harbour board."},
    {"id": "b", "text": "Orrin Head is a cape, known for its seals and steep cliffs."},
    {"id": "c", "text": "The keeper of the lighthouse at Orrin Head kept a daily journal."},
    *(
        {"id": f"n{n}", "text": f"Parish {n} keeps a register of boats and nets."}
        for n in range(12)
    ),
]

pytestmark = pytest.mark.slow


@pytest.fixture
def done(spawn):
    """Run a command line in a process of its own and return its stdout."""

    def finish(*arguments):
        process = spawn(*arguments)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out

    return finish


def test_a_true_positive_is_reported_confirmed_held_removed_and_restored(done, jsonl, tmp_path):
    url = str(tmp_path / "audit.db")
    base = jsonl("kb.jsonl", *FACTS, LYING)
    done("report", "--query", QUERY, "--response", "It was first lit in 1921.", "--store", url)
    found = json.loads(done("worker", "--once", "--store", url, "-b", base, "--json"))
    assert (found["responsible"], found["proposed"]) == (["x"], 1)
    why = ("--why", "the board wrote no such thing")
    done("quarantine", "confirm", "x", "--store", url, "--actor", "ann", *why)

    edited = (
        LYING["text"].replace("harbour", "harb0ur").replace("So it was.", "And so it was then.")
    )
    asked = "Which boards kept lights?"
    copies = [{"id": "copy", "text": edited}, *FACTS[:4]]
    traffic = jsonl("t.jsonl", {"query": asked, "passages": copies})
    verdict = json.loads(done("filter", traffic, "--store", url))
    assert verdict["dropped"] == ["copy"]

    knowledge, store = KnowledgeBase.from_jsonl(base), open_store(url)
    removal = remove_quarantined(store, knowledge)
    assert [one.id for one in removal.removed] == ["x"]
    assert "x" not in {one.id for one in knowledge.retrieve(QUERY, 50)}
    (entry,) = store.quarantine()
    back = restore(store, knowledge, [entry.key], removed=removal.removed, actor="bo")
    assert [one.id for one in back] == ["x"]
    assert "x" in {one.id for one in knowledge.retrieve(QUERY, 50)}
    store.close()
    verdict = json.loads(done("filter", traffic, "--store", url))
    assert verdict["dropped"] == []
    trail = json.loads(done("audit", "list", "--store", url, "--json"))
    told = [(one["actor"], one["details"].get("said")) for one in trail]
    assert ("ann", why[1]) in told
    assert "bo" in {actor for actor, _ in told}


def test_a_false_positive_is_dropped_seen_allowed_and_kept(run, jsonl, tmp_path):
    def done(*arguments):
        return run(*arguments).stdout

    url = str(tmp_path / "audit.db")
    page = {"id": "faq", "text": f"{QUERY} In 1874, as the harbour board had asked for."}
    traffic = jsonl("t.jsonl", {"query": QUERY, "passages": [page, *FACTS[:4]]})
    assert json.loads(done("filter", traffic, "--store", url))["dropped"] == ["faq"]
    (row,) = json.loads(done("verdicts", "list", "--store", url, "--json"))
    shown = json.loads(done("verdicts", "show", row["id"], "--store", url, "--json"))
    assert "faq" in json.dumps(shown)
    pages = jsonl("page.jsonl", page)
    why = ("--why", "our own FAQ", "--actor", "ann")
    done("allow", "--passages", pages, "--store", url, *why)
    assert json.loads(done("filter", traffic, "--store", url))["dropped"] == []
    (allowance,) = json.loads(done("allowed", "--store", url, "--json"))
    assert (allowance["why"], allowance["actor"]) == ("our own FAQ", "ann")
    done("disallow", "--passages", pages, "--store", url, "--why", "it moved", "--actor", "ann")
    assert json.loads(done("filter", traffic, "--store", url))["dropped"] == ["faq"]
    trail = json.loads(done("audit", "list", "--store", url, "--json"))
    assert "it moved" in {one["details"].get("said") for one in trail}
