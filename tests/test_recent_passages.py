"""What the generator saw for the newest queries."""

import numpy as np

from ragguard import Guard, Passage
from ragguard.recent_passages import RecentPassages

A, B, C = (Passage(text, id=text) for text in ("first text", "second text", "third text"))


def test_the_last_passages_of_a_query_are_recalled():
    recent = RecentPassages()
    assert recent.recall("q") == ()
    recent.remember("q", [A, B])
    recent.remember("p", [C])
    assert recent.recall("q") == (A, B)
    recent.remember("q", [C])
    assert recent.recall("q") == (C,)


def test_what_the_caller_does_to_the_list_does_not_matter():
    recent, given_list = RecentPassages(), [A, B]
    recent.remember("q", given_list)
    given_list.clear()
    assert recent.recall("q") == (A, B)


def test_what_was_seen_is_remembered_within_a_bound():
    seen = RecentPassages(max_bytes=100_000)
    for i in range(50):
        seen.remember(f"{i}", [Passage(f"{i}" + "x" * 9_000)])
        assert seen.recall(f"{i}")
    assert [bool(seen.recall(f"{i}")) for i in range(50)] == [False] * 40 + [True] * 10
    seen.remember("49", [Passage("x" * 200_000)])
    assert seen.recall("49") == ()
    assert seen.recall("48")
    for _ in range(50):
        seen.remember("48", [Passage("y" * 50_000)])
    assert len(seen.recall("48")) == 1
    assert seen.recall("47")


def test_metadata_counts_with_all_that_it_holds_and_is_left_out_if_it_is_large():
    seen = RecentPassages(max_bytes=100_000)
    for i in range(50):
        seen.remember(f"{i}", [Passage("x", metadata={"raw": [["y" * 7_000]]})])
    assert sum(bool(seen.recall(f"{i}")) for i in range(50)) == 12  # of 8 kB
    seen.remember("q", [Passage("x", metadata={"raw": [["y" * 1_000_000]]}), A])
    assert seen.recall("q") == (Passage("x"), A)


def test_queries_come_for_a_second_after_the_newest(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("ragguard.recent_passages.time.monotonic", lambda: now[0])
    seen = RecentPassages()
    assert not seen.is_fresh()
    seen.remember("q", [])
    now[0] += 0.9
    assert seen.is_fresh()
    now[0] += 0.2
    assert not seen.is_fresh()


def test_what_was_let_through_is_known_to_the_letter():
    seen = RecentPassages()
    assert seen.has_passed("Ann lit it.") is None  # nothing is known yet
    seen.remember("q", [Passage("Ann lit it."), Passage("Bo left.")])
    assert seen.has_passed("Ann lit it.")
    assert seen.has_passed("Ann lit? it.") is False
    assert not seen.has_passed("Ann lit it.", "acme")
    assert seen.of_same_letters("ann lit? it") == ["Ann lit it."]
    assert seen.of_same_letters("ann lit" + "\u200b" * 500 + "? it") == ["Ann lit it."]
    assert seen.of_same_letters("ann lit? it", "acme") == []


def test_no_tenant_can_have_another_ones_reports_trusted():
    seen = RecentPassages(max_bytes=100_000)
    seen.remember("q", [Passage("Ann lit it.")], "acme")
    for i in range(50):
        seen.remember("q", [Passage(f"{i}" + "x" * 9_000)], "acme")
        seen.remember("q", [Passage("Bo lit it.")], "bolt")
    assert not seen.of_same_letters("Ann lit it.", "acme")  # it has gone
    assert not seen.has_passed("Ann lit? it.", "acme")
    assert not seen.has_passed("Bo lit it.", "acme")


def test_no_tenant_pushes_out_what_another_one_saw():
    seen = RecentPassages(max_bytes=100_000)
    seen.remember("q", [Passage("Ann lit it.")], "acme")
    for i in range(200):  # by one that has much, and by many that have little
        seen.remember(f"q{i}", [Passage(f"{i}" + "x" * 9_000)], "bolt")
        seen.remember("q", [Passage(f"{i}")], f"made up {i % 20}")
    assert [passage.text for passage in seen.recall("q", "acme")] == ["Ann lit it."]
    assert seen.has_passed("Ann lit it.", "acme")
    assert seen.recall("q199", "bolt")
    assert not seen.recall("q0", "bolt")


def test_of_tenants_whose_names_are_made_up_there_are_only_so_many():
    seen = RecentPassages(max_bytes=100_000)
    for i in range(1_000):
        seen.remember("q", [], f"made up {i}")
    assert seen.has_passed("Ann lit it.", "made up 999") is False
    assert seen.has_passed("Ann lit it.", "made up 0") is None  # as if it had never asked


class Raising(dict):
    """A mapping of the caller's that cannot be read."""

    def __bool__(self):
        raise OSError("the connection is gone")

    __len__ = items = values = __iter__ = __bool__


def test_metadata_that_cannot_be_read_is_not_kept_and_stops_nothing():
    odd = Passage("one", metadata=Raising(a=1))
    recent = RecentPassages()
    recent.remember("q", [odd])
    assert recent.recall("q")[0].metadata == {}
    with Guard() as guard:
        assert guard.filter("q", [odd, "two"]).kept[0] is odd
        guard.report("q", "r", passages=[odd])


def test_of_a_vector_that_is_part_of_an_array_the_array_is_not_kept():
    rows = np.ones((1000, 8))
    recent = RecentPassages()
    recent.remember("q", [Passage("one", embedding=rows[3])])
    (kept,) = recent.recall("q")
    assert kept.embedding.base is None
    assert kept.embedding.tolist() == [1.0] * 8


def test_of_vectors_that_are_all_of_an_array_no_copies_are_made():
    rows = np.ones((4, 8))
    recent = RecentPassages()
    recent.remember("q", [Passage(str(n), embedding=rows[n]) for n in range(4)])
    assert all(kept.embedding.base is rows for kept in recent.recall("q"))
    recent.remember("q", [Passage(str(n), embedding=rows[n]) for n in range(3)])
    assert all(kept.embedding.base is None for kept in recent.recall("q"))


def test_of_vectors_of_many_arrays_none_of_them_is_kept():
    recent = RecentPassages()
    recent.remember("q", [Passage(str(n), embedding=np.ones((4, 8))[0]) for n in range(9)])
    assert all(kept.embedding.base is None for kept in recent.recall("q"))


def test_what_another_tenant_asks_does_not_count():
    seen = RecentPassages()
    seen.remember("who lit it", [Passage("Ann lit it.")], "acme")
    assert seen.has_passed("Ann lit it.") is None  # nothing of the default tenant is known
    assert seen.has_passed("Bo lit it.", "acme") is False
    assert seen.is_fresh()
