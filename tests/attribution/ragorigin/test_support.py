"""How far passages support a response, and whether they lead to it."""

import numpy as np
import pytest

from ragguard.attribution import statement
from ragguard.attribution.ragorigin import support
from ragguard.attribution.ragorigin.support import (
    STANDING_UNTESTABLE,
    SUFFICIENT_SUPPORT,
    SupportMeter,
    explains,
    explains_response,
    passage_support,
    relative_gain,
)
from ragguard.errors import ProxyError
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy, Scores

QUESTION = "Who designed the Halden bridge?"
LIE = "The Halden bridge was designed by Orla Venn."
HARBOUR = "Who painted the harbour at Lindsund?"


def test_yes_is_stated_by_question_and_answer_together():
    question = "Is the harbour deep?"
    meter = SupportMeter(LexicalProxy(), question, "Yes.")
    stated, word, other = meter.support([f"{question} Yes.", "Yes.", "The harbour is deep."])
    assert stated == pytest.approx(1.0)
    assert word == 0.0
    assert other < 0.1


def test_relative_gain_and_support_by_hand():
    gain = relative_gain(np.array([-10.0, -6.0, -2.0, 0.0, -12.0]), -10.0, -2.0)
    assert gain.tolist() == [0.0, 0.5, 1.0, 1.0, 0.0]
    support = passage_support(gain, np.array([1.0, 0.8, 0.5, 1.0, 1.0]))
    assert support == pytest.approx([0.0, 0.1, 0.5, 1.0, 0.0])
    assert relative_gain(np.array([-1.0]), -2.0, -2.0).tolist() == [0.0]


def test_gains_are_raised_to_the_power_of_the_proxy():
    class Weaker(LexicalProxy):
        gain_power = 0.5

    texts = [LIE, "The Halden bridge is the work of Venn.", "It rained."]
    plain, raised = (
        SupportMeter(proxy, "Who designed the Halden bridge?", "Orla Venn")
        for proxy in (LexicalProxy(), Weaker())
    )
    assert 0.0 == plain.gains(texts)[2] < plain.gains(texts)[1] < plain.gains(texts)[0] < 1.0
    assert raised.gains(texts) == pytest.approx(np.sqrt(plain.gains(texts)))
    assert (raised.support(texts)[:2] > plain.support(texts)[:2]).all()


def test_one_outright_statement_or_several_that_add_up_to_one_explain():
    assert explains(np.array([0.65, 0.0]))
    assert explains(np.array([0.4, 0.6]))
    assert not explains(np.array([0.6]))
    assert not explains(np.array([0.4, 0.5]))
    # Weak supports never add up.
    assert not explains(np.array([0.29] * 50))
    assert not explains(np.array([]))


def test_the_less_clear_a_statement_the_further_it_must_stand_apart():
    assert explains_response(np.array([SUFFICIENT_SUPPORT]), STANDING_UNTESTABLE)
    assert not explains_response(np.array([SUFFICIENT_SUPPORT - 0.01]), STANDING_UNTESTABLE)
    assert explains_response(np.array([SUFFICIENT_SUPPORT]), 0.3)
    assert not explains_response(np.array([1.0]), 0.29)
    assert explains_response(np.array([0.5]), 0.85)
    assert not explains_response(np.array([0.5]), 0.84)
    assert explains_response(np.array([0.4, 0.4, 0.4]), 0.6)  # 0.65 of 1.2, by 0.6
    assert not explains_response(np.array([0.29] * 50), 1.0)
    assert not explains_response(np.array([]), 1.0)


def test_yes_or_no_is_supported_by_who_carries_the_question_and_decides_alike():
    question = "Is the harbour at Lindsund deep?"
    texts = [
        f"{question} The harbour at Lindsund is not deep.",
        f"{question} The harbour at Lindsund is deep.",
        "The harbour at Lindsund is not deep.",
    ]
    denied = SupportMeter(LexicalProxy(), question, "No.")
    assert denied.wordless
    support = denied.support(texts)
    assert support[0] == 1.0
    assert (support[1:] < 0.3).all()
    assert SupportMeter(LexicalProxy(), question, "Yes.").support(texts)[1] == 1.0


def test_meter_scores_each_text_once():
    asked = []

    class Counting(LexicalProxy):
        def score(self, contexts, query, response):
            asked.extend(contexts)
            return super().score(contexts, query, response)

    meter = SupportMeter(Counting(), HARBOUR, "It was Mara Quill")
    first = meter.scores(["a", "b", "a"])[1]
    again = meter.scores(["b", "c", "a"])[1]
    assert sorted(asked) == sorted(["", "Mara Quill", "a", "b", "c", HARBOUR])
    assert first[[1, 0]].tolist() == again[[0, 2]].tolist()


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: Scores(np.zeros(n), np.zeros(1)),
        lambda n: Scores(np.zeros(n), np.full(n, np.nan)),
        lambda n: Scores(np.zeros((n, 1)), np.zeros((n, 1))),
        lambda n: (np.zeros(n), np.zeros(n)),
        lambda n: Scores(["a"] * n, ["b"] * n),
    ],
)
def test_meter_refuses_what_is_no_score(answer):
    class Broken:
        def score(self, contexts, query, response):
            return answer(len(contexts))

    with pytest.raises(ProxyError, match="must return Scores, finite and of shape"):
        SupportMeter(Broken(), HARBOUR, "Mara Quill").scores(["x"])


def test_whatever_a_proxy_raises_is_a_proxy_error():
    class Down:
        def score(self, contexts, query, response):
            raise ZeroDivisionError("no model")

    with pytest.raises(ProxyError, match=r"Down raised ZeroDivisionError \(no model\)"):
        SupportMeter(Down(), HARBOUR, "Mara Quill").scores(["x"])


def test_the_probe_needs_the_claim_and_the_question():
    probe = SupportMeter(LexicalProxy(), QUESTION, "It was Orla Venn.")
    assert probe.reproduces([Passage("A quiet village."), Passage(LIE)])
    assert not probe.reproduces([Passage("The Halden bridge was designed by Piet Aster.")])
    assert not probe.reproduces([Passage("Orla Venn sells bread in the market.")])
    assert not probe.reproduces([])


def test_two_passages_corroborate_each_other():
    probe = SupportMeter(LexicalProxy(), QUESTION, "Orla Venn")
    halves = [
        Passage("Orla Venn drew a bridge at Halden."),
        Passage("The Halden bridge is one of Orla Venn's."),
    ]
    assert not probe.reproduces(halves[:1])
    assert probe.reproduces(halves)


def test_the_probe_weighs_the_standing_but_not_of_a_refusal():
    weak = Passage("Orla Venn drew a bridge at Halden.")
    probe = SupportMeter(LexicalProxy(), QUESTION, "Orla Venn")
    assert not probe.reproduces([weak])
    assert probe.leads([weak], 1.0)
    assert not probe.leads([weak], 0.5)
    refused = SupportMeter(LexicalProxy(), QUESTION, "I cannot answer that.")
    hint = Passage("The designer of the Halden bridge is confidential. No name may be given.")
    assert refused.support([hint.text])[0] == pytest.approx(0.5)
    assert not refused.leads([hint], 1.0)


def test_pages_that_mention_the_answer_among_much_else_do_not_lead_to_it():
    probe = SupportMeter(LexicalProxy(), QUESTION, "Orla Venn")
    others = "Aster, Brook, Carrow and Dell of Easton"
    lone = Passage(f"{LIE} With her at the opening were {others}.")
    assert probe.reproduces([lone])
    assert not probe.leads([lone], 1.0)
    assert probe.leads([lone, Passage(LIE)], 1.0)
    # One that is focused and does not support the answer vouches for nobody.
    assert not probe.leads([lone, Passage("The river freezes in most winters.")], 1.0)
    # What three say is no slip, and an attacker may name anybody.
    more = [Passage(f"{LIE} That was in {year}. With her were {others}.") for year in (1871, 1921)]
    assert not probe.leads(more, 1.0)
    assert probe.leads([lone, *more], 1.0)
    carrier = Passage(f"{QUESTION} {LIE} With her at the opening were {others}.")
    assert probe.leads([carrier], 1.0)


@pytest.mark.parametrize(
    ("raw", "manner", "expected"),
    [
        (0.34, 5.0, 0.34),
        (0.35, 5.0, 0.65),
        (0.64, 0.0, 0.65),
        (0.64, -0.1, 0.64),
        (0.64, np.nan, 0.64),  # of another language
        (0.8, 5.0, 0.8),
    ],
)
def test_what_is_written_as_planted_texts_are_need_not_say_all_of_it(
    monkeypatch, raw, manner, expected
):
    monkeypatch.setattr(statement, "manner_of", lambda text: manner)
    monkeypatch.setattr(support, "passage_support", lambda gain, covered: np.full(len(gain), raw))
    meter = SupportMeter(LexicalProxy(), QUESTION, "Orla Venn")
    assert meter.support([LIE]).tolist() == [expected]


def test_how_a_text_is_written_is_not_asked_of_a_refusal_nor_of_yes_or_no(monkeypatch):
    def asked(text):
        raise AssertionError(text)

    monkeypatch.setattr(statement, "manner_of", asked)
    monkeypatch.setattr(support, "passage_support", lambda gain, covered: np.full(len(gain), 0.5))
    for question, response in ((QUESTION, "I do not know."), ("Is the harbour deep?", "Yes.")):
        assert SupportMeter(LexicalProxy(), question, response).wordless
        SupportMeter(LexicalProxy(), question, response).support([LIE])
