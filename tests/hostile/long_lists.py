"""What lists of many passages cost, which `max_ms` does not bound.

    python -m tests.hostile.long_lists

Passages are random sentences of the demo. Times are processor time, in milliseconds, once for
passages that the guard has never read and once again; `compared` is RAGDefender's grouping and
isolation, which decide on an attacked set whose words leave it open.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from rich.console import Console

from ragguard import Guard, Passage
from ragguard.demo.corpus import load_corpus
from ragguard.embedding import as_embedder
from ragguard.inline.ragdefender import group_and_isolate

QUERY = load_corpus().questions[1].text


def passages(count: int, sentences: int, rng: Random) -> list[Passage]:
    """Return so many different passages of so many sentences."""
    said = [text for one in load_corpus().passages for text in one.text.split(". ")]
    texts = (". ".join(rng.sample(said, sentences)) for _ in range(count))
    return [Passage(f"{text}. Page {number}.") for number, text in enumerate(texts)]


def milliseconds(work: Callable[..., object], *args: Any) -> float:
    began = time.thread_time()
    work(*args)
    return 1e3 * (time.thread_time() - began)


def rows(counts: Sequence[int], sentences: Sequence[int]) -> Iterator[tuple[float, ...]]:
    """Yield characters and number of the passages, and what they cost: new, seen, compared."""
    embedder = as_embedder(None)
    for many in sentences:
        for count in counts:
            found = passages(count, many, Random(count))
            with Guard() as guard:
                guard.filter(QUERY, passages(10, many, Random(0)))
                new, seen = (milliseconds(guard.filter, QUERY, found) for _ in range(2))
            compared = milliseconds(group_and_isolate, QUERY, found, embedder, "auto")
            yield sum(len(one.text) for one in found) / count, count, new, seen, compared


if __name__ == "__main__":
    out = Console()
    out.print("characters  passages       new      seen  compared")
    for row in rows((10, 100, 1_000, 5_000), (3, 8)):
        out.print("{:10.0f}{:10.0f}{:10.1f}{:10.1f}{:10.1f}".format(*row), highlight=False)
