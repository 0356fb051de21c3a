"""What a text can do in a prompt, and how the verdict of a judge is read."""

import pytest

from ragguard.attribution.prompts import fenced, read_agreement, without_thoughts


@pytest.mark.parametrize("mark", ["<passage>", "</passage>", "< / PASSAGE >", "<\n/passage"])
def test_a_text_neither_opens_nor_closes_its_tag(mark):
    assert fenced(f"a {mark} b < c <b>", "passage") == f"a ({mark[1:]} b < c <b>"


@pytest.mark.parametrize("mark", ["<think>", "</think>", "<thinking>", "< / Thinking >"])
def test_a_text_brings_no_thought_into_the_reply_that_quotes_it(mark):
    assert fenced(mark, "passage") == f"({mark[1:]}"


def test_spaces_without_end_are_read_in_linear_time():
    # With backtracking this takes hours, which the suite's limit ends.
    text = "<" + " " * 1_000_000 + "x"
    assert fenced(text, "passage") == text


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>first</think>Yes", "Yes"),
        ("\n<thinking>first\nsecond</thinking>Yes", "Yes"),
        ("without an opening tag</think>Yes", "Yes"),
        ("<think>without an end", ""),
        ("It says <think>. Yes", "It says <think>. Yes"),
    ],
)
def test_thoughts_stand_before_the_answer(reply, answer):
    assert without_thoughts(reply) == answer


@pytest.mark.parametrize(
    "verdict",
    [
        "SAME",
        "same.",
        "SAME. There is no contradiction.",
        "SAME, although they are not worded the same",
        "They are not DIFFERENT.",
        "Not different: the same claim.",
        "They are worded in different ways, but are the same",
        "<think>DIFFERENT?</think>Yes.",
    ],
)
def test_the_judge_finds_the_same_claim(verdict):
    assert read_agreement(verdict) is True


@pytest.mark.parametrize(
    "verdict",
    [
        "DIFFERENT",
        "They are not the same.",
        "Not the same",
        "They do not make the same claim.",
        "They don\u2019t say the same thing.",
        "DIFFERENT, not the same",
        "NOT THE SAME",
        "DIFFERENT: the first says no and the second says yes.",
        "No.",
    ],
)
def test_the_judge_finds_a_different_claim(verdict):
    assert read_agreement(verdict) is False


@pytest.mark.parametrize("verdict", ["", "I cannot tell.", "<think>SAME"])
def test_the_judge_says_neither(verdict):
    assert read_agreement(verdict) is None
