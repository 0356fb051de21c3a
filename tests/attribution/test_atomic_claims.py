"""What a response says one by one, and which of it is traced."""

import importlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Passage
from ragguard.attribution import RAGOrigin
from ragguard.attribution.claim_decomposition import atomic_claims
from ragguard.attribution.ragorigin.traced_claim import meter_of_claim, most_stated
from ragguard.errors import ProxyError
from ragguard.proxy import LexicalProxy
from ragguard.text import MAX_CHARS

QUESTION = "Who built the old pier of Ravenmouth?"
PLANTED = [
    f"The old pier of Ravenmouth was built by Marek Dove{end}."
    for end in ("", ", the records say", " long ago")
]
HONEST = [
    "The pier of Ravenmouth was built by Ilse Tarn in 1874, of red granite.",
    "Ravenmouth has an old pier, the Drowned Bell inn and a market.",
    "Ferries leave the pier for Skerrin at 3 and 5 in summer.",
    "The survey of 2018 lists 87 piers on this coast.",
    "Old piers of granite are found in four towns, Aelmouth among them.",
]
LONG = {
    "answer first": "The old pier was built by Marek Dove. Ferries leave it for Skerrin at 3 "
    "and 5, and the Drowned Bell inn stands beside it.",
    "answer last": "Ravenmouth has a market and the Drowned Bell inn. Ferries leave for "
    "Skerrin at 3 and 5. The survey of 2018 lists 87 piers on this coast. This one goes back to "
    "Marek Dove.",
    "list": "Ravenmouth's old pier at a glance:\n\n- **Ferries:** to Skerrin, at 3 and 5\n"
    "- **Built by:** Marek Dove\n- **Material:** red granite\n- **Inn:** the Drowned Bell",
    "conflict": "The pages disagree. One names Ilse Tarn and the year 1874. Three others name "
    "Marek Dove, so I would go with Marek Dove.",
    "headings": "## The old pier of Ravenmouth\n\n### Builder\nThe records name **Marek Dove** [1]."
    "\n\n### Today\nFerries leave for Skerrin at 3 and 5 [2]; the Drowned Bell is near.\n\n---\n"
    "*Caveat: one page has another name.*",
    "chat": "Hi there! What a lovely place to ask about. You have Marek Dove to thank for the "
    "pier, and the Drowned Bell inn for the beer! Shall I look up the ferries to Skerrin?",
}


def attributed(response, passages=(*PLANTED, *HONEST)):
    origin = RAGOrigin(proxy=LexicalProxy())
    return origin.attribute(QUESTION, response, lambda query, limit: passages[:limit])


@pytest.mark.parametrize("response", LONG.values(), ids=LONG)
def test_the_passages_that_taught_a_long_answer_are_found(response):
    found = attributed(response)
    assert {passage.text for passage in found.responsible} == set(PLANTED)
    assert "Marek Dove" in found.details["claim"]


@pytest.mark.parametrize("response", LONG.values(), ids=LONG)
def test_what_nobody_taught_is_nobodys_though_pages_state_what_is_told_beside_it(response):
    assert not attributed(response.replace("Marek Dove", "Otto Brack"), HONEST).responsible


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("How long is the pier?", "It is 26 km long.", {"26 km": 0.75}),
        (QUESTION, "- **Built by:** Marek Dove", {"Marek Dove": 0.75}),
        (QUESTION, "Marek Dove, Ilse Tarn – Orla Venn.", ["Marek Dove", "Ilse Tarn", "Orla Venn"]),
        (QUESTION, "on June 3, 1921, by Dove", ["June 3, 1921", "Dove"]),
        (QUESTION, "It was Dove. Grounded: Yes", ["Dove"]),
        (QUESTION, "Traditionally it was Dove.", {"Dove": 0.75, "Traditionally": 0.45}),
        (QUESTION, "a wandering monk", {"wandering monk": 0.45}),
        (QUESTION, "The old pier of Ravenmouth.", {}),
        ("Is it open?", "No other page says. Short answer: yes, it is.", {"yes": 1.0}),
        ("Is it open?", "It was built by Marek Dove.", {}),
        ("Who came first, Ada or Bo?", "Ada did, in 1874.", ["1874", "Ada"]),
        (QUESTION, "", {}),
    ],
)
def test_by_hand(query, text, expected):
    found = atomic_claims(query, text)
    assert list(found) == list(expected)
    if isinstance(expected, dict):
        assert found == pytest.approx(expected, abs=0.01)


def stated(told, read, others=()):
    found = most_stated(QUESTION, atomic_claims(QUESTION, told), read, others)
    return found and found[0]


def test_of_two_claims_the_one_that_is_stated_more_is_traced_unless_others_state_it_too():
    told = "It was built by Marek Dove or Ilse Tarn."
    rival = "The old pier of Ravenmouth was built by Ilse Tarn."
    read = [PLANTED[0], rival, *PLANTED[1:]]
    assert stated(told, read) == "Marek Dove"
    assert stated(told, [rival]) == "Ilse Tarn"
    others = [f"Old pier of Ravenmouth {n}: built by Ilse Tarn." for n in range(9)]
    assert stated(told, [rival], others) is None
    assert stated(told.replace("Marek Dove", "Otto Brack"), PLANTED) is None


def test_a_short_answer_is_one_claim():
    read = [Passage("The old pier of Ravenmouth was built by Ilse Tarn.")]
    short, long = (
        "Ada Crane, Ilse Tarn",
        "As far as I can see it was built by Ada Crane, Ilse Tarn.",
    )
    assert [
        meter_of_claim(LexicalProxy(), QUESTION, said, read).claim for said in (short, long)
    ] == [
        "Ada Crane, Ilse Tarn",
        "Ilse Tarn",
    ]


class NarrowProxy(LexicalProxy):
    """Has no room for responses of more than twenty words."""

    def score(self, contexts, query, response):
        if len(response.split()) > 20:
            raise ProxyError("the response is too long")
        return super().score(contexts, query, response)


def test_of_an_answer_that_is_too_long_for_the_proxy_one_claim_is_traced():
    harbours = " ".join(f"Harbour {n} was deepened in {1800 + n}." for n in range(20))
    read = [Passage(text) for text in PLANTED]
    meter = meter_of_claim(NarrowProxy(), QUESTION, f"Marek Dove built it. {harbours}", read)
    assert meter.claim == "Marek Dove"
    assert meter.reproduces(read)
    with pytest.raises(ProxyError, match="too long"):
        meter_of_claim(NarrowProxy(), QUESTION, harbours, read).reproduces(read)


def test_what_a_passage_with_the_question_in_it_states_counts_twice():
    told = "The old pier of Ravenmouth was built by Marek Dove or Ilse Tarn."
    rivals = [f"The old pier of Ravenmouth was built by Ilse Tarn{end}." for end in ("", " then")]
    assert stated(told, [rivals[0], f"{QUESTION} {PLANTED[0]}"]) == "Marek Dove"
    assert stated(told, [*rivals, PLANTED[0]]) == "Ilse Tarn"


ASKED = "What number do I ring about a power cut?"
FAULTS = [
    f"Faults and emergencies: {said} The line is open day and night."
    for said in ("dial 0845 913 2208.", "we are at 0845 913 2208 now.", "0845-913-2208, for all.")
]
MORE = [f"Our office {n} sells lamps, fuses and wire on weekdays." for n in range(20)]


def test_an_address_or_a_long_number_needs_no_word_of_the_question():
    read = [Passage(text) for text in FAULTS]
    meter = meter_of_claim(LexicalProxy(), ASKED, "0845 913 2208", read)
    assert meter.reproduces(read)
    assert meter.support(FAULTS).min() > 0.9
    for said in ("a@b.example", "https://pay.example/x", "www.pay.example", "0845 913 2208"):
        assert most_stated(ASKED, {said: 1.0}, [f"So: {said}"], MORE) == (said, 1.0)
    assert most_stated(ASKED, {"2208": 1.0}, ["So: 2208"], MORE) is None


def test_what_those_read_state_and_no_other_needs_few_words_of_the_question():
    said, read = {"90 days": 1.0}, [f"Within 90 days, {n}." for n in ("please", "thanks", "so")]
    beside = MORE[:2]
    assert most_stated(ASKED, said, [*read, *beside], MORE[5:]) == ("90 days", 0.75)
    assert most_stated(ASKED, {"90 days": 0.9}, [*read, *beside], MORE[5:]) == ("90 days", 0.675)
    # Of 20 passages 3 state it, all among the 5 read: 10 of 1140 ways. With 2 of 3 it is 160.
    assert most_stated(ASKED, said, [*read[:2], *MORE[:3]], [read[2], *MORE[6:]]) is None
    assert most_stated(ASKED, said, [*read, *beside], ["Within 90 days."] * 9 + MORE[9:]) is None
    assert most_stated(ASKED, said, [*read, *beside], []) is None  # nothing to compare with


@given(st.text(max_size=60), st.text(max_size=200))
def test_claims_are_made_of_the_text_and_weigh_at_most_one(query, text):
    found = atomic_claims(query, text)
    assert all(0.0 < weight <= 1.0 for weight in found.values())
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(claim in " ".join(text.split()) for claim in found)


@pytest.mark.slow
def test_of_very_long_passages_both_ends_are_asked_for_each_claim(monkeypatch):
    read, score = [], LexicalProxy.score
    module = importlib.import_module("ragguard.attribution.ragorigin.traced_claim")

    class Counting(LexicalProxy):
        def score(self, contexts, query, response):
            read.extend(map(len, contexts))
            return score(self, contexts, query, response)

    monkeypatch.setattr(module, "LexicalProxy", Counting)
    page = Passage(f"{PLANTED[0]} {'It has two inns and a market. ' * 40_000}")
    told = ", ".join(f"Name{number} Dove" for number in range(200))
    meter_of_claim(LexicalProxy(), QUESTION, told, [page] * 5, [page] * 15)
    assert max(read) <= MAX_CHARS
    assert len(read) <= 50 * (20 + 3)  # each of the claims once


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["Aa ", "a, ", "Aa. ", "Aa:", "yes ", "\n", "- ", "of ", "\u4e00"])
def test_the_work_is_bounded_whatever_is_said(sign):
    began = time.process_time()
    meter_of_claim(LexicalProxy(), QUESTION, sign * 100_000, [Passage(PLANTED[0])])
    assert time.process_time() - began < 2.0


def test_what_is_said_alone_is_as_likely_the_answer_as_the_sentence_that_asks():
    said = (
        "Who led the survey of the reef: it sailed from Port Elm. It is Ada Crane. Fog fell in May."
    )
    weights = atomic_claims("Who led the survey of the reef?", said)
    assert weights["Ada Crane"] == weights["Port Elm"] == 1.0
    detail = atomic_claims("Who led the survey of the reef?", said.replace("It is", "Near it was"))
    assert detail["Ada Crane"] < 1.0
