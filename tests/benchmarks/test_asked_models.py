"""Plug-ins that ask a language model by name, or one that somebody else wrapped."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from benchmarks.attributors.explanation_prompting import ATTRIBUTOR, Explained
from benchmarks.cells import load_suite
from benchmarks.datasets import skerrin
from benchmarks.measuring import Place, reader_of
from benchmarks.plugins import attack_named, find
from benchmarks.readers.base import PASSAGE_CHARACTERS, Prompt
from benchmarks.report.figures import title_of
from benchmarks.suite_command import run, shown
from ragguard.errors import GenerationError, InvalidInputError
from ragguard.passage import Passage

QUESTION = "Who built the pier?"
TEXTS = ["Herring is sold on Fridays.", "Bo Rix built the pier.", "The pier: Bo Rix.", "Below k."]


def blame(answer, texts=TEXTS, k=3):
    asked = []

    def model(prompt):
        asked.append(prompt)
        return answer

    passages = [Passage(text) for text in texts]
    found = Explained(model, k).attribute(QUESTION, "Bo Rix", lambda _, limit: passages[:limit])
    return found, asked


def test_passages_that_the_model_names_are_blamed():
    found, (prompt,) = blame("I read [2] and [3]; [4] was not shown, in 1 of 3 cases.")
    assert [one.text for one in found.responsible] == TEXTS[1:3]
    assert [one.responsible for one in found.scores] == [False, True, True]
    assert (found.cause, found.details["calls"], found.scope_size) == ("poisoning", 1, 3)
    assert all(f"[{at}] {text}" in prompt for at, text in enumerate(TEXTS[:3], 1))
    assert TEXTS[3] not in prompt
    assert f"Question: {QUESTION}\nYour answer: Bo Rix" in prompt


def test_a_model_that_names_none_blames_nobody():
    found, _ = blame("From memory.")
    assert (found.responsible, found.cause) == ([], "unclear")
    empty, _ = blame("[1]", texts=[])
    assert (empty.responsible, empty.cause) == ([], "unclear")


def test_of_a_long_passage_the_model_is_shown_what_a_reader_is():
    _, (prompt,) = blame("[1]", texts=["{x} " + "a" * 2 * PASSAGE_CHARACTERS])
    assert f"[1] {{x}} {'a' * (PASSAGE_CHARACTERS - 4)}\n" in prompt


def test_the_baseline_says_whose_it_is():
    assert find("attributors", "explanation_prompting") is ATTRIBUTOR
    about = ATTRIBUTOR.about
    assert (about.needs, about.fidelity, about.venue) == ("language model", "templated", "WWW 2025")


@pytest.fixture
def langchain(monkeypatch):
    """A module in LangChain's place, whose model says what it was made with and asked."""
    made = []

    class Chat:
        fails = None

        def __init__(self, model, **options):
            made.append((model, options))

        def invoke(self, prompt):
            if Chat.fails is not None:
                raise Chat.fails
            usage = {"input_tokens": len(prompt.split()), "output_tokens": 2}
            return SimpleNamespace(content=" Ann Lark ", usage_metadata=usage)

    def init_chat_model(model, **options):
        if ":" not in model:
            raise ValueError("Unable to infer model provider")
        return Chat(model, **options)

    package, module = ModuleType("langchain"), ModuleType("langchain.chat_models")
    module.init_chat_model = init_chat_model
    monkeypatch.setitem(sys.modules, "langchain", package)
    monkeypatch.setitem(sys.modules, "langchain.chat_models", module)
    return Chat, made


def test_a_chat_model_of_langchain_reads_and_its_tokens_are_counted(langchain):
    chat, made = langchain
    reader = find("readers", "langchain").make("stand:in")
    assert made == [("stand:in", {"temperature": 0, "max_tokens": 32})]
    assert reader.name == "stand:in by LangChain, temperature 0, 32 tokens"
    prompt = Prompt(QUESTION, ("Ann Lark built it.",))
    answer = reader.answer(prompt)
    assert (answer.text, answer.written) == ("Ann Lark", 2)
    assert answer.read == len(reader.words(prompt).split())
    assert reader.answer(prompt).read == answer.read
    chat.fails = RuntimeError("no such key")
    with pytest.raises(GenerationError, match="no such key"):
        reader.answer(prompt)


def test_what_langchain_cannot_make_is_said(langchain):
    make = find("readers", "langchain").make
    with pytest.raises(InvalidInputError, match="name it in full"):
        make()
    with pytest.raises(InvalidInputError, match=r"infer model provider\); install langchain"):
        make("nobody")


def test_without_langchain_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain", None)
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(InvalidInputError, match="install langchain and its package"):
        find("readers", "langchain").make("openai:gpt")


SUITE = """
attacks = ["none", "poisonedrag_plain", "poisonedrag_plain langchain stand:in"]
defences = ["none", "discern_and_answer", "instructrag", "robustrag_keyword"]
datasets = ["skerrin"]
readers = ["langchain stand:in"]
questions = 2
"""


@pytest.fixture
def asked(langchain, monkeypatch):
    """What a chat model of langchain_core that always answers the same was asked."""
    fake = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    prompts = []

    class Chat(fake.FakeListChatModel):
        def _call(self, messages, *args, **options):
            prompts.append(messages[-1].content)
            return super()._call(messages, *args, **options)

    module = sys.modules["langchain.chat_models"]
    module.init_chat_model = lambda *_, **__: Chat(responses=["Bo Rix, as it is said."])
    return prompts


@pytest.fixture
def shown_cells(asked, tmp_path):
    path = tmp_path / "chat.toml"
    path.write_text(SUITE, encoding="utf-8")
    suite, place = load_suite(str(path), None), Place(None, tmp_path)
    reader_of.cache_clear()
    list(run(suite.cells, place))
    return {(one.cell.attack, one.cell.method): one for one in shown(suite, place)}


def test_a_suite_is_read_by_a_chat_model_and_its_prompts_say_what_a_defence_tells(
    shown_cells, asked
):
    assert [one.reason for one in shown_cells.values()] == [""] * 12
    calls = {method: shown_cells["none", method].rows[0]["calls"] for _, method in shown_cells}
    # RobustRAG reads five passages each alone, and then asks with what recurs.
    assert calls == {"none": 1, "discern_and_answer": 1, "instructrag": 1, "robustrag_keyword": 6}
    assert any("falsified" in prompt for prompt in asked)
    assert any("which mislead" in prompt for prompt in asked)
    assert any("several sources gave: bo, rix, " in prompt for prompt in asked)


def test_a_model_that_writes_an_attack_is_named_and_told_the_false_answer(shown_cells, asked):
    name = "poisonedrag_plain langchain stand:in"
    row = shown_cells[name, "none"].rows[0]
    assert row["planted"] == 1  # the model writes the same for every place
    assert title_of("attacks", name) == "PoisonedRAG, no question, written by LangChain"
    attack, writer = attack_named(name)
    assert (attack.about.fidelity, writer) == ("written by LangChain", "langchain stand:in")
    orders = [prompt for prompt in asked if prompt.startswith("Write two sentences for a forum")]
    wrong = {one.wrong for one in skerrin().records}
    assert orders
    assert all(any(f"is {one}." in order for one in wrong) for order in orders)
    assert "Question:" not in orders[0]
    versions = dict(shown_cells[name, "none"].cell.versions)
    assert "readers/langchain" in versions
    with pytest.raises(InvalidInputError, match="no model writes for 'hijackrag'"):
        attack_named("hijackrag smollm2")
