"""What every attributor takes: a search of any form, passages with vectors, whole numbers."""

import asyncio
import gc
import json

import numpy as np
import pytest

from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.attribution.result import Attribution
from ragguard.errors import GenerationError, InvalidInputError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy

QUERY = "Who designed the Halden bridge?"
LIE = "Orla Venn"
TEXTS = [
    "The Halden bridge was designed by Orla Venn, as the town archive shows.",
    "Orla Venn designed the Halden bridge when she was only thirty.",
    "The bridge at Halden carries two lanes and a footpath over the river.",
    "Halden lies on both banks of the river and has a small harbour.",
    "Bridges of timber rot where the posts enter the water.",
    "The ferry of Halden was given up in the spring.",
]
PASSAGES = [Passage(text) for text in TEXTS]


def answer(prompt):
    return "[Label: Yes]" if LIE in prompt.partition("<response>")[0] else "[Label: No]"


MAKERS = [
    RAGOrigin,
    lambda **options: RAGForensics(judge=answer, **options),
    lambda **options: InfluenceScore(generate=answer, **options),
]
NAMES = ["ragorigin", "ragforensics", "influence"]
every_attributor = pytest.mark.parametrize("make", MAKERS, ids=NAMES)


def plain(query, limit):
    return PASSAGES[:limit]


async def awaited(query, limit):
    await asyncio.sleep(0)
    return PASSAGES[:limit]


class Base:
    def retrieve(self, query, limit):
        return TEXTS[:limit]


class AsynchronousBase:
    async def retrieve(self, query, limit):
        return PASSAGES[:limit]


class AsynchronousCall:
    async def __call__(self, query, limit):
        return PASSAGES[:limit]


@every_attributor
@pytest.mark.parametrize(
    "retrieve",
    [awaited, lambda query, limit: awaited(query, limit), Base(), AsynchronousBase(),
     AsynchronousCall()],
    ids=["async", "lambda", "object", "async object", "async call"],
)  # fmt: skip
def test_whatever_as_retrieve_takes_is_searched(make, retrieve):
    expected = make().attribute(QUERY, LIE, plain)
    assert make().attribute(QUERY, LIE, retrieve) == expected
    assert asyncio.run(make().aattribute(QUERY, LIE, retrieve)) == expected


@every_attributor
def test_a_knowledge_base_is_searched_as_its_method_is(make):
    base = KnowledgeBase(TEXTS)
    assert make().attribute(QUERY, LIE, base) == make().attribute(QUERY, LIE, base.retrieve)


@every_attributor
def test_nothing_is_retrieved(make):
    found = make().attribute(QUERY, LIE, lambda query, limit: [])
    assert (found.cause, found.scope_size, found.scores) == ("unclear", 0, [])
    assert found.details["calls"] == 0


@every_attributor
def test_goes_through_json_and_back(make):
    found = make().attribute(QUERY, LIE, plain)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert Attribution.from_dict(json.loads(text)) == found


@every_attributor
@pytest.mark.parametrize(("query", "response"), [("", "a"), (" ", "a"), ("q", "  "), (None, "a")])
def test_blank_query_or_response(make, query, response):
    said = f"{'response' if query == 'q' else 'query'} must be a str that is not blank"
    with pytest.raises(InvalidInputError, match=said):
        make().attribute(query, response, plain)
    with pytest.raises(InvalidInputError, match=said):
        asyncio.run(make().aattribute(query, response, plain))


@every_attributor
@pytest.mark.parametrize("bad", [None, 3, TEXTS, Base])
def test_what_cannot_be_searched(make, bad):
    said = "retrieve must be a callable|instance of Base"
    with pytest.raises(InvalidInputError, match=said):
        make().attribute(QUERY, LIE, bad)
    with pytest.raises(InvalidInputError, match=said):
        asyncio.run(make().aattribute(QUERY, LIE, bad))


async def nothing(query, limit):
    return None


@pytest.mark.slow
@every_attributor
@pytest.mark.parametrize("retrieve", [lambda query, limit: None, nothing], ids=["sync", "async"])
def test_a_search_that_returns_nothing_is_told_what_to_return(make, retrieve):
    said = r"retrieve must return a sequence of str or Passage.* \[\] .*; it returned a NoneType"
    with pytest.raises(InvalidInputError, match=said):
        make().attribute(QUERY, LIE, retrieve)
    with pytest.raises(InvalidInputError, match=said):
        asyncio.run(make().aattribute(QUERY, LIE, retrieve))
    gc.collect()  # a coroutine that nobody awaited would warn now


@every_attributor
def test_vectors_may_be_lists(make):
    rows = [[float(number), 1.0, 0.5] for number in range(len(TEXTS))]
    lists = [Passage(text, embedding=row) for text, row in zip(TEXTS, rows, strict=True)]
    arrays = [Passage(text, embedding=np.array(row)) for text, row in zip(TEXTS, rows, strict=True)]
    found = make().attribute(QUERY, LIE, lambda query, limit: lists[:limit])
    assert found == make().attribute(QUERY, LIE, lambda query, limit: arrays[:limit])


@every_attributor
@pytest.mark.parametrize("bad", ["5", None, 1.5, True, [5], 0])
def test_top_k_is_a_whole_number(make, bad):
    with pytest.raises(InvalidInputError, match="top_k must be a whole number of at least 1"):
        make(top_k=bad)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (MAKERS[0], "max_scope"),
        (MAKERS[1], "max_scope"),
        (MAKERS[1], "concurrency"),
        (MAKERS[2], "concurrency"),
        (MAKERS[2], "samples"),
    ],
)
@pytest.mark.parametrize("bad", ["5", None, 1.5, True, 0])
def test_other_whole_numbers(make, name, bad):
    with pytest.raises(InvalidInputError, match=f"{name} must be a whole number"):
        make(**{name: bad})
    make(**{name: np.int64(30)})


@every_attributor
def test_integers_of_numpy_will_do(make):
    found = make(top_k=np.int64(5)).attribute(QUERY, LIE, plain)
    assert found == make(top_k=5).attribute(QUERY, LIE, plain)
    assert type(found.scope_size) is int


@pytest.mark.parametrize("make", MAKERS[:2])
def test_a_scope_smaller_than_k(make):
    with pytest.raises(InvalidInputError, match="max_scope must be a whole number of at least 6"):
        make(top_k=6, max_scope=5)


@pytest.mark.parametrize("bad", ["x", None, True, "0.8"])
def test_a_similarity_is_a_number(bad):
    with pytest.raises(InvalidInputError, match="similarity must be a number"):
        InfluenceScore(generate=answer, similarity=bad)


every_model = pytest.mark.parametrize(
    "make",
    [
        lambda model: RAGOrigin(generate=model),
        lambda model: RAGForensics(judge=model),
        lambda model: InfluenceScore(generate=model),
    ],
    ids=NAMES,
)


def broken(prompt):
    raise ValueError("no key")


@every_model
@pytest.mark.parametrize(("model", "said"), [(broken, "no key"), (lambda prompt: "", "no text")])
def test_a_model_that_fails_is_told(make, model, said):
    with pytest.raises(GenerationError, match=said):
        make(model).attribute(QUERY, LIE, plain)
    with pytest.raises(GenerationError, match=said):
        asyncio.run(make(model).aattribute(QUERY, LIE, plain))


@every_model
def test_a_model_must_be_one(make):
    with pytest.raises(InvalidInputError, match="pass a callable"):
        make("gpt")


every_function = pytest.mark.parametrize(
    ("make", "name"),
    [
        (MAKERS[1], "prompt"),
        (MAKERS[1], "read"),
        (MAKERS[2], "prompt"),
        (MAKERS[2], "equivalent"),
    ],
)


@every_function
def test_functions_must_be_callable(make, name):
    with pytest.raises(InvalidInputError, match=f"{name} must be callable, not int"):
        make(**{name: 5})
    with pytest.raises(InvalidInputError, match=f"{name} must be no coroutine function"):
        make(**{name: asyncio.sleep})


@every_function
def test_what_a_function_raises_is_told(make, name):
    finder = make(**{name: lambda *_: {}["gone"]})
    with pytest.raises(InvalidInputError, match=f"{name} raised KeyError \\('gone'\\)"):
        finder.attribute(QUERY, LIE, plain)
    with pytest.raises(InvalidInputError, match=f"{name} raised KeyError"):
        asyncio.run(finder.aattribute(QUERY, LIE, plain))


@pytest.mark.parametrize("bad", [3, LexicalProxy, lambda contexts: contexts])
def test_a_proxy_scores(bad):
    with pytest.raises(InvalidInputError, match="proxy"):
        RAGOrigin(proxy=bad)
