"""Attribution in a process of its own answers what it would here, and its end is a failure."""

import contextlib
import os
import signal
import sys
import time

import pytest

from ragguard import Guard, Passage
from ragguard.attribution import Apart, RAGOrigin, child_process
from ragguard.attribution.result import Attribution
from ragguard.errors import InvalidInputError, RagguardError, RetrievalError

QUESTION = "Who designed the Halden bridge?"
TEXTS = [
    "The Halden bridge was designed by Orla Venn, as the town archive shows.",
    "Orla Venn designed the Halden bridge when she was only thirty.",
    "The Halden bridge was designed by the engineer Piet Aster and opened in spring.",
    "The bridge at Halden carries two lanes and a footpath over the river.",
    "Halden lies on both banks of the river and has a small harbour.",
]


class Unpicklable:
    def __reduce__(self):
        raise TypeError("stays here")


def passages():
    held = Unpicklable()
    return [Passage(text, id=f"{i}", metadata={"held": held}) for i, text in enumerate(TEXTS)]


def retrieve(query, limit):
    return passages()[:limit]


def garble():
    """Close what the parent listens to, and go on for a while."""
    for number in range(3, 20):
        with contextlib.suppress(OSError):
            os.close(number)
    time.sleep(60)


class Named:
    """Does what the response names; made in the child."""

    def attribute(self, query, response, retrieve):
        if response == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if response == "sleep":
            time.sleep(60)
        if response == "garble":
            garble()
        if response == "print":
            os.write(1, b"a model prints")
        if response == "invalid":
            raise InvalidInputError("not like this")
        if response == "fail":
            raise ValueError("broken")
        found = list(retrieve(query, 1))
        pid = str(os.getpid())
        return Attribution(query, response, pid, found, [], 1, "poisoning", "so")


def out_of_order():
    raise ValueError("no model is here")


def quits():
    sys.exit(3)


class Question(str):
    """What the child, which is told no module of that name, cannot rebuild."""

    __slots__ = ()
    __module__ = "known_to_the_parent_alone"


@pytest.fixture
def named():
    with contextlib.closing(Apart(f"{__name__}:Named")) as apart:
        yield apart


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    # The child imports this module by its name.
    monkeypatch.syspath_prepend(os.path.dirname(__file__))  # noqa: PTH120


def test_it_answers_what_the_attributor_would_answer_here():
    with contextlib.closing(Apart()) as apart:
        found = apart.attribute(QUESTION, "Orla Venn", retrieve)
    expected = RAGOrigin().attribute(QUESTION, "Orla Venn", retrieve)
    assert [score.passage.id for score in found.scores] == [s.passage.id for s in expected.scores]
    assert [p.id for p in found.responsible] == [p.id for p in expected.responsible] != []
    assert all("held" in passage.metadata for passage in found.responsible)
    assert (found.cause, found.reason) == (expected.cause, expected.reason)


@pytest.mark.slow
def test_it_takes_what_every_attributor_takes():
    class Retrieving:  # as LangChain's retrievers do
        def invoke(self, query):
            raise OSError("down")

    with contextlib.closing(Apart()) as apart:
        with pytest.raises(InvalidInputError, match="query"):
            apart.attribute(" ", "Orla Venn", retrieve)
        with pytest.raises(InvalidInputError, match="callable"):
            apart.attribute(QUESTION, "Orla Venn", object())
        with pytest.raises(RetrievalError, match="down"):
            apart.attribute(QUESTION, "Orla Venn", Retrieving())


@pytest.mark.slow
def test_a_guard_attributes_apart():
    with contextlib.closing(Apart()) as apart, Guard(attributor=apart) as guard:
        event = guard.report(QUESTION, "Orla Venn", passages=TEXTS)
        found = guard.attribution(event, timeout=60)
        assert set(TEXTS[:2]) == {passage.text for passage in found.responsible}
        assert {entry.text for entry in guard.proposals()} == set(TEXTS[:2])


@pytest.mark.slow
async def test_it_works_in_one_other_process(named):
    first = named.attribute("q", "print", retrieve)
    again = await named.aattribute("q", "r", retrieve)
    assert first.method == again.method != str(os.getpid())
    assert first.responsible[0].metadata


@pytest.mark.slow
def test_a_child_that_dies_is_a_failure_and_the_next_one_works(named):
    first = named.attribute("q", "r", retrieve).method
    with pytest.raises(RagguardError, match="has ended with -9"):
        named.attribute("q", "die", retrieve)
    assert named.attribute("q", "r", retrieve).method != first


@pytest.mark.slow
def test_what_takes_too_long_is_cut_off():
    apart = Apart(f"{__name__}:Named", timeout_s=2.0)
    with contextlib.closing(apart), pytest.raises(RagguardError, match="after 2 s at most"):
        apart.attribute("q", "sleep", retrieve)


@pytest.mark.slow
def test_failures_are_told(named):
    with pytest.raises(InvalidInputError, match="not like this"):
        named.attribute("q", "invalid", retrieve)
    with pytest.raises(RagguardError, match="ValueError: broken"):
        named.attribute("q", "fail", retrieve)

    def broken(query, limit):
        raise KeyError("index")

    with pytest.raises(RetrievalError, match="KeyError"):
        named.attribute("q", "r", broken)
    assert named.attribute("q", "r", retrieve).responsible


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "told"),
    [
        ("out_of_order", "^ValueError: no model is here$"),
        ("absent", "^AttributeError: .* has no attribute 'absent'$"),
        ("quits", "has ended with 3, after"),
    ],
)
def test_a_factory_that_fails_is_told_by_its_own_error(make, told, monkeypatch):
    monkeypatch.setattr(child_process, "_LAST_WORDS_S", 60.0)  # where others use the processor
    with contextlib.closing(Apart(f"{__name__}:{make}")) as apart:
        for _ in range(2):
            with pytest.raises(RagguardError, match=told):
                apart.attribute("q", "r", retrieve)


@pytest.mark.slow
def test_a_child_that_says_no_more_and_goes_on_is_ended(named):
    began = time.monotonic()
    with pytest.raises(RagguardError, match="has ended with -9"):
        named.attribute("q", "garble", retrieve)
    assert time.monotonic() - began < 30
    assert named.attribute("q", "r", retrieve).responsible


@pytest.mark.slow
def test_a_query_of_another_class_of_str_is_sent_as_plain_text(named):
    found = named.attribute(Question("q"), Question("r"), retrieve)
    assert (type(found.query), type(found.response)) == (str, str)
    assert (found.query, found.response) == ("q", "r")


@pytest.mark.parametrize(
    "options",
    [
        {"make": "RAGOrigin"},
        {"make": ":x"},
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"timeout_s": float("nan")},
        {"timeout_s": "300"},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(InvalidInputError, match="must be"):
        Apart(**options)


@pytest.mark.slow
def test_a_fork_leaves_the_child_to_its_parent(named):
    before = named.attribute("q", "r", retrieve).method
    pid = os.fork()
    if pid == 0:
        named.close()
        os._exit(named._child is not None)
    assert os.waitpid(pid, 0)[1] == 0
    assert named.attribute("q", "r", retrieve).method == before
