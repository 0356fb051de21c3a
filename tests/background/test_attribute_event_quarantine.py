"""What is in quarantine already is left out of the search for the next report."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard
from ragguard.attribution import RAGOrigin
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, MemoryStore, QuarantineEntry
from ragguard.audit.decisions import Decisions
from ragguard.background import Policy, evidence
from ragguard.background.attribute_event import EventAttributor
from ragguard.content import content_key, content_keys
from ragguard.errors import StoreError
from ragguard.inline.fingerprints import fingerprints
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.lru import forget_all
from ragguard.passage import Passage
from ragguard.recent_passages import RecentPassages

QUESTION = "Who designed the Halden bridge?"
FIRST = [
    "The Halden bridge was designed by Orla Venn, as the town archive shows.",
    "Orla Venn designed the Halden bridge when she was only thirty.",
]
SECOND = [
    "The Halden bridge was designed by Bero Quist, a mason of Merrow.",
    "Bero Quist designed the Halden bridge in one winter.",
]
BENIGN = [
    "The Halden bridge was designed by the engineer Piet Aster and opened in spring.",
    "The bridge at Halden carries two lanes and a footpath over the river.",
    "Halden lies on both banks of the river and has a small harbour.",
    "Bridges of timber rot where the posts enter the water.",
    "The river freezes in most winters, and the ferries then stop.",
]


class Listing:
    """An attributor that asks once and accuses what it is given."""

    def __init__(self, limit):
        self.limit = limit
        self.seen = None

    def attribute(self, query, response, retrieve):
        self.seen = [passage.text for passage in retrieve(query, self.limit)]
        return Attribution(query, response, "listing", [], [], 0, "unclear", "listed", {"n": 1})


def store_with(*texts, event_id="earlier", status="quarantined"):
    store = MemoryStore()
    store.add_quarantine(
        [QuarantineEntry(content_key(t), t, t, "test", event_id, status) for t in texts]
    )
    return store


def attribute_event(store, event, attributor, retrieve):
    return EventAttributor(store, retrieve, attributor=attributor).attribute(event)


def ranked(texts):
    passages = [Passage(text) for text in texts]
    return lambda query, limit: passages[:limit]


def test_quarantined_passages_are_left_out_and_replaced():
    attributor = Listing(2)
    found = attribute_event(store_with("a", "c"), Event("1", "q", "r"), attributor, ranked("abcde"))
    assert attributor.seen == ["b", "d"]
    assert found.details == {"n": 1, "left_out": 2}
    assert found.reason == "listed; 2 in quarantine already were left out of the search"


def test_content_counts_not_spelling_of_white_space_or_ids():
    attributor = Listing(2)
    attribute_event(
        store_with("Bad  Text"), Event("1", "q", "r"), attributor, ranked(["bad text", "b", "c"])
    )
    assert attributor.seen == ["b", "c"]


def test_released_passages_are_searched():
    attributor = Listing(2)
    store = store_with("a", status="released")
    found = attribute_event(store, Event("1", "q", "r"), attributor, ranked("abc"))
    assert attributor.seen == ["a", "b"]
    assert found.details == {"n": 1}
    assert found.reason == "listed"


def test_the_passages_of_the_event_are_searched_as_the_generator_read_them():
    attributor = Listing(5)
    event = Event("1", "q", "r", tuple(Passage(text) for text in "abc"))
    found = attribute_event(store_with("b"), event, attributor, None)
    assert attributor.seen == ["a", "b", "c"]
    assert found.details == {"n": 1}


def test_a_second_attempt_sees_what_the_first_one_quarantined():
    store = store_with("a", event_id="1")
    store.add_quarantine([QuarantineEntry(content_key("b"), "b", "b", "test", "other")])
    attributor = Listing(2)
    attribute_event(store, Event("1", "q", "r", attempts=2), attributor, ranked("abcd"))
    assert attributor.seen == ["a", "c"]
    attribute_event(store, Event("1", "q", "r", attempts=1), attributor, ranked("abcd"))
    assert attributor.seen == ["c", "d"]


def test_a_failing_store_is_told():
    class Down(MemoryStore):
        def quarantine_keys(self):
            raise StoreError("down")

    with pytest.raises(StoreError):
        attribute_event(Down(), Event("1", "q", "r"), Listing(1), ranked("a"))


@given(st.lists(st.sampled_from("abcdefghij"), unique=True), st.data(), st.integers(0, 12))
def test_the_search_is_the_ranking_without_quarantine(texts, data, limit):
    held = data.draw(st.sets(st.sampled_from("abcdefghij")))
    attributor = Listing(limit)
    attribute_event(store_with(*held), Event("1", "q", "r"), attributor, ranked(texts))
    assert attributor.seen == [text for text in texts if text not in held][:limit]


def test_a_second_report_finds_the_second_attack():
    with Guard(retrieve=ranked([*FIRST, *SECOND, *BENIGN]), attributor=RAGOrigin(top_k=4)) as guard:
        blamed = []
        for lie in ("Orla Venn", "Bero Quist"):
            event = guard.report(QUESTION, lie)
            found = guard.attribution(event, timeout=60)
            blamed.append({passage.text for passage in found.responsible})
            for entry in guard.proposals():
                guard.confirm(entry)
            again = guard.attribution(guard.report(QUESTION, lie), timeout=60)
            assert again.responsible == []
            assert again.details["left_out"] == 2 * len(blamed)
        assert blamed == [set(FIRST), set(SECOND)]
        assert guard.store.quarantine_keys() == {content_key(text) for text in FIRST + SECOND}


def test_of_an_event_each_text_is_worked_out_once(monkeypatch):
    worked_out = Counter()

    def keys(texts):
        worked_out.update(("key of", text) for text in texts)
        return content_keys(texts)

    def marks(texts, letters):
        worked_out.update(("marks of", text) for text in texts)
        return fingerprints(texts, letters)

    monkeypatch.setattr(evidence, "content_keys", keys)
    monkeypatch.setattr("ragguard.attribution.claim.fingerprints", marks)
    lies = [f"{QUESTION} Orla Venn {n}. {page(4_000)}" for n in range(3)]
    texts = [*lies, *[page(4_000) for _ in range(5)]]
    details = {"counterfactual": True, "marks": {content_key(one): 0.01 for one in lies}}
    accused = [Passage(one) for one in lies]
    found = Attribution(QUESTION, "r", "listing", accused, [], 9, "poisoning", "listed", details)
    asked = []

    def search(query, limit):
        asked.append(query)
        return [Passage(one) for one in texts]

    attributor = EventAttributor(MemoryStore(), search, policy=Policy("auto"))
    done = attributor.quarantine(Event("1", QUESTION, "r"), found)
    assert [one.quarantined for one in done] == [True] * 3
    assert len(asked) > 2 * len(lies)
    whole = {worked: times for worked, times in worked_out.items() if worked[1] in texts}
    assert whole == {(what, text): 1 for what in ("key of", "marks of") for text in texts}


def test_what_is_read_for_the_attribution_is_not_read_again_for_the_quarantine(monkeypatch):
    read = Counter()

    def counting(texts, letters):
        read.update(texts)
        return fingerprints(texts, letters)

    forget_all()
    monkeypatch.setattr("ragguard.attribution.claim.fingerprints", counting)
    texts = [f"{QUESTION} It was Orla Venn.", *BENIGN]
    with Guard() as guard:
        found = guard.attribution(guard.report(QUESTION, "Orla Venn", passages=texts), 60.0)
    assert [one.text for one in found.responsible] == texts[:1]
    assert {text: read[text] for text in texts} == dict.fromkeys(texts, 1)


@pytest.mark.slow
def test_what_very_many_are_accused_of_is_searched_for_within_bounds():
    for count, searches, of_the_first in ((1, 10, 10), (10, 100, 10), (50, 100, 2), (200, 100, 1)):
        asked = []

        def search(query, limit, asked=asked):
            asked.append(query)
            return []

        accused = [
            Passage(" ".join(f"p{n:03}x{word}" for word in range(900))) for n in range(count)
        ]
        found = Attribution("q", "r", "listing", accused, [], count, "poisoning", "listed")
        attributor = EventAttributor(MemoryStore(), search, policy="review")
        assert len(attributor.quarantine(Event("1", "q", "r"), found)) == count
        assert len(asked) == searches
        assert sum("p000" in query for query in asked) == of_the_first


WORDS = "abcdefghijklmnopqrstuvwxyz"
RANDOM = Random(0)


def page(letters):
    """A page that says what no other page says."""
    words = []
    while letters > 0:
        words.append("".join(RANDOM.sample(WORDS, RANDOM.randrange(3, 9))))
        letters -= len(words[-1])
    return " ".join(words)


def dropped(planted, pages, seen=None, *, beside=(), search=None):
    """Confirm planted texts that a report blames, and return which of the pages go with them.

    What was `seen` stands for the search, unless that is given; `beside` is in the base as well.
    """
    base = KnowledgeBase([Passage(one) for one in [*planted, *pages, *beside, *BENIGN]])
    store = MemoryStore()
    accused = [Passage(one) for one in planted]
    found = Attribution(QUESTION, "r", "listing", accused, [], 9, "poisoning", "listed")
    retrieve = search or (base.retrieve if seen is None else None)
    attributor = EventAttributor(store, retrieve, policy="review", seen=seen)
    attributor.quarantine(Event("1", QUESTION, "r", tuple(accused)), found)
    for entry in store.quarantine():
        store.set_quarantine_status(entry.key, "confirmed")
    with Guard(store=store) as guard:
        assert len(guard.filter("What is it?", planted).dropped) == len(planted)
        gone = guard.filter("What is it?", pages).dropped
    return [one.text for one in gone]


@pytest.mark.slow
@pytest.mark.parametrize("planted", [1, 3, 5, 9, 40])
def test_the_line_that_honest_pages_share_takes_none_of_them_along(planted):
    footer = page(300)
    pages = [f"{page(600)}\n\n{footer}" for _ in range(60)]
    lies = [f"{QUESTION} Orla Venn {n}. {footer}" for n in range(planted)]
    assert dropped(lies, pages) == []


@pytest.mark.slow
@pytest.mark.parametrize("times", [0, 1, 100, 600])
def test_pages_behind_what_is_said_again_and_again_stay(times):
    pages = [page(2_000) for _ in range(10)]
    lies = [
        f"{QUESTION} {FIRST[0]} " + f"{FIRST[1]} " * times + f"{pages[2 * n]} {pages[2 * n + 1]}"
        for n in range(5)
    ]
    assert dropped(lies, pages) == []


@pytest.mark.slow
def test_a_page_far_behind_in_a_long_text_stays():
    pages = [page(9_000) for _ in range(100)]
    lies = [f"{QUESTION} {FIRST[0]} {page(6_000)} {one}" for one in pages[:2]]
    assert dropped(lies, pages) == []


def test_a_page_stays_of_which_a_text_says_little_more():
    pages = [page(700) for _ in range(5)]
    assert dropped([f"{QUESTION} {FIRST[0]} {one}" for one in pages], pages) == []


def test_what_else_was_planted_clears_no_copy_of_it():
    lie = f"{QUESTION} {FIRST[0]} {page(700)}"
    copies = [f"{lie} {page(100)}", f"{QUESTION} {page(20)} {lie}"]
    assert dropped([lie], copies) == copies


@pytest.mark.parametrize("planted", [1, 5])
def test_without_a_search_the_pages_that_were_let_through_say_what_they_share(planted):
    footer = page(300)
    pages = [f"{page(600)}\n\n{footer}" for _ in range(30)]
    lies = [f"{QUESTION} Orla Venn {n}. {footer}" for n in range(planted)]
    edited = [f"{one} So it was in {n} years." for n, one in enumerate(lies)]
    seen = RecentPassages()
    for at in range(0, 30, 10):
        seen.remember("What did the council say?", [Passage(one) for one in pages[at : at + 10]])
    seen.remember(QUESTION, [Passage(one) for one in [*lies, *BENIGN]])
    assert dropped(lies, [*pages, *edited], seen) == edited


def test_without_a_search_marked_copies_that_were_let_through_clear_nothing():
    lie = f"{QUESTION} {FIRST[0]} {page(700)}"
    copies = [f"{lie} {page(100)}", f"{QUESTION} {page(20)} {lie}"]
    seen = RecentPassages()
    seen.remember(QUESTION, [Passage(one) for one in [lie, *copies, *BENIGN]])
    assert dropped([lie], copies, seen) == copies


def test_what_was_let_through_for_another_tenant_clears_nothing():
    lie = f"{QUESTION} {FIRST[0]} {page(700)}"
    seen = RecentPassages()
    seen.remember("What is it?", [Passage(lie[60:])], tenant="other")
    assert dropped([lie], [f"{lie} So it is."], seen) == [f"{lie} So it is."]


def with_footer(planted):
    footer = page(300)
    pages = [f"{page(600)}\n\n{footer}" for _ in range(60)]
    return footer, pages, [f"{QUESTION} Orla Venn {n}. {footer}" for n in range(planted)]


@pytest.mark.slow
@pytest.mark.parametrize("planted", [1, 5])
def test_texts_of_the_same_words_in_another_order_hide_no_page_from_the_search(planted):
    footer, pages, lies = with_footer(planted)
    decoys = [" ".join(RANDOM.sample(footer.split(), len(footer.split()))) for _ in range(12)]
    assert dropped(lies, pages, beside=decoys) == []


@pytest.mark.slow
def test_where_the_search_answers_nothing_what_was_let_through_lately_counts():
    _, pages, lies = with_footer(5)
    seen = RecentPassages()
    seen.remember("What did the council say?", [Passage(pages[0])])
    assert dropped(lies, pages, seen, search=lambda query, limit: []) == []


@pytest.mark.slow
def test_notes_take_no_places_of_the_search_that_a_copied_page_needs():
    pages = [page(700) for _ in range(100)]
    lies = [
        f"{QUESTION} {FIRST[0]} {' '.join(f'({page(190)})' for _ in range(60))} {one}"
        for one in pages[:5]
    ]
    assert dropped(lies, pages) == []


def test_what_was_not_searched_for_makes_no_copy():
    pages = [page(400) for _ in range(40)]
    lie = " ".join(f"{page(900)} {one}" for one in pages[:20])
    assert dropped([f"{QUESTION} {FIRST[0]} {lie}"], pages) == []


@pytest.mark.parametrize("odd", ["\0", "\ud800", '"', "AND (", "foo:[", "\\"])
def test_what_a_search_refuses_in_a_planted_text_saves_none_of_them(odd):
    def refusing(query, limit):
        query.encode()
        if set(query) & set('\0"(:[\\'):
            raise ValueError("that is no query")
        return []

    store = MemoryStore()
    accused = [Passage(f"{FIRST[0]} {odd}"), Passage(FIRST[1])]
    found = Attribution(QUESTION, "r", "listing", accused, [], 9, "poisoning", "listed")
    done = EventAttributor(store, refusing, policy="review").quarantine(
        Event("1", QUESTION, "r"), found
    )
    assert len(done) == 2


@pytest.mark.parametrize("tenant", ["", "acme"])
@pytest.mark.parametrize("others", [(), ("ann",)])
def test_an_event_that_is_undone_while_its_texts_are_searched_for_accuses_nothing(tenant, others):
    store = MemoryStore()
    mine = store.of_tenant(tenant or None)
    for reporter in ("mal", *others):
        store.add_event(Event("1", QUESTION, "r", reporter=reporter, tenant=tenant))
    event = store.claim_event(lease_s=60)

    def slow(query, limit):
        Decisions(mine).undo(reporter="mal")
        return []

    found = Attribution(QUESTION, "r", "listing", [Passage(FIRST[0])], [], 9, "poisoning", "so")
    attributor = EventAttributor(store, slow, policy="review")
    assert attributor.quarantine(event, found) == []
    assert mine.quarantine() == []
    if others:  # what they reported is taken up again, and not in his name
        attributor.quarantine(store.claim_event(lease_s=60), found)
        assert [entry.reporters for entry in mine.quarantine()] == [(None,)]


@pytest.mark.parametrize("then", ["nothing", "claimed again", "finished"])
def test_an_event_that_was_given_back_while_its_texts_were_searched_for_accuses_nothing(then):
    store = MemoryStore()
    store.add_event(Event("1", QUESTION, "r"))
    event = store.claim_event(lease_s=60)
    found = Attribution(QUESTION, "r", "listing", [Passage(FIRST[0])], [], 9, "poisoning", "so")

    def slow(query, limit):
        store.fail_event("1", "its worker was closed", final=False, attempt=1, counts=False)
        if then != "nothing":
            store.claim_event(lease_s=60)
        if then == "finished":
            store.finish_event("1", replace(found, responsible=[], cause="unclear"), attempt=2)
        return []

    assert EventAttributor(store, slow, policy="review").quarantine(event, found) == []
    assert store.quarantine() == []


def test_what_is_given_back_in_the_moment_of_accusing_is_left_to_the_next_attempt(monkeypatch):
    store = MemoryStore()
    store.add_event(Event("1", QUESTION, "r"))
    event, accuse = store.claim_event(lease_s=60), store.accuse

    def accused(entries, limits):
        store.fail_event("1", "its worker was closed", final=False, attempt=1, counts=False)
        return accuse(entries, limits)

    monkeypatch.setattr(store, "accuse", accused)
    found = Attribution(QUESTION, "r", "listing", [Passage(FIRST[0])], [], 9, "poisoning", "so")
    attributor = EventAttributor(store, policy="review")
    attributor.quarantine(event, found)
    monkeypatch.undo()
    assert [entry.status for entry in store.quarantine()] == ["proposed"]
    (again,) = attributor.quarantine(store.claim_event(lease_s=60), found)
    assert again.kept


@pytest.mark.parametrize("others", [(), ("ann",)])
def test_what_is_undone_in_the_moment_of_accusing_is_undone(others, monkeypatch):
    store = MemoryStore()
    for reporter in ("mal", *others):
        store.add_event(Event("1", QUESTION, "r", reporter=reporter))
    event, accuse = store.claim_event(lease_s=60), store.accuse

    def accused(entries, limits):
        Decisions(store).undo(reporter="mal")
        return accuse(entries, limits)

    monkeypatch.setattr(store, "accuse", accused)
    found = Attribution(QUESTION, "r", "listing", [Passage(FIRST[0])], [], 9, "poisoning", "so")
    assert EventAttributor(store, policy="review").quarantine(event, found) == []
    assert [entry.status for entry in store.quarantine()] == ["lapsed"]


def test_a_cleared_text_is_read_once_whatever_is_accused(monkeypatch):
    read = Counter()

    def counting(texts, letters=None):
        read.update(texts)
        return fingerprints(texts, letters)

    monkeypatch.setattr("ragguard.attribution.claim.fingerprints", counting)
    cleared = [Passage(f"The mill of Halden has {n} stones, one of them new.") for n in range(9)]
    accused = [Passage(f"Bob Crane built pier {n} of Halden, as all know.") for n in range(30)]
    scores = [PassageScore(one, 0.0, 0.0, 0.0, 0.0, responsible=False) for one in cleared]
    found = Attribution("q", "r", "fake", accused, scores, 39, "poisoning", "so")
    events = EventAttributor(MemoryStore(), lambda query, limit: cleared[:limit], policy="review")
    assert len(events.quarantine(Event("e", "q", "r"), found)) == 30
    assert {read[one.text] for one in cleared} == {1}
