"""What every attributor takes: a search of any form, passages with vectors, whole numbers."""

import asyncio
import gc

import numpy as np
import pytest

from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.errors import InvalidInputError
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
@pytest.mark.parametrize("bad", ["5", None, 1.5, True])
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


@pytest.mark.parametrize("bad", [3, LexicalProxy, lambda contexts: contexts])
def test_a_proxy_scores(bad):
    with pytest.raises(InvalidInputError, match="proxy"):
        RAGOrigin(proxy=bad)
