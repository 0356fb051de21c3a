"""Influence Score: how much surer one passage alone makes the model than all passages together.

Source: "Quantifying Document Impact in RAG-LLMs" (anonymous submission), Equations 4 to 6 and
section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragguard.attribution.attribution import Attribution, Cause, PassageScore, Retrieve
from ragguard.attribution.dialogue import Dialogue, aconclude, check_event, conclude, spent
from ragguard.attribution.language_model import TextModel, as_text_model
from ragguard.attribution.similarity import embedding_similarity
from ragguard.embedding import CachedEmbedder, as_embedder
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage, as_passages
from ragguard.text import STOP_WORDS, tokens

__all__ = [
    "InfluenceScore",
    "answer_prompt",
    "cluster_by_equivalence",
    "cluster_by_similarity",
    "gist",
    "semantic_entropy",
    "states",
]


def semantic_entropy(labels: ArrayLike) -> float:
    """Return the entropy of the meanings of sampled responses, in bits.

    H_S = -sum_c p_c log2 p_c, where p_c is the share of the samples in meaning c. The paper
    (section 4, step 6) prints the sum without its minus sign, which would turn every ranking
    around; its own words (low when the answers agree) are those of the entropy. It also takes the
    p_i from similarity scores divided by their sum; counting clusters is what the semantic entropy
    that it builds on does (Kuhn et al. 2023), and is 0 exactly when all samples agree.

    Args:
        labels: int array of shape (n,): the meaning of every sample.

    Raises:
        InvalidInputError: There is no sample.

    >>> semantic_entropy([0, 0, 1, 1])
    1.0
    """
    _, counts = np.unique(np.asarray(labels), return_counts=True)
    if counts.size == 0:
        raise InvalidInputError("semantic entropy needs at least one sampled response")
    shares = counts / counts.sum()
    return float(abs(np.sum(shares * np.log2(shares))))


def cluster_by_similarity(vectors: ArrayLike, threshold: float) -> NDArray[np.int64]:
    """Return one cluster label a row: rows with a cosine of at least `threshold` belong together.

    Clusters are the connected components of that relation, so they do not depend on the order in
    which the samples came back.

    Args:
        vectors: float array of shape (n, d), rows of any length; a zero row is like no other.
        threshold: Cosine in [-1, 1].

    Returns:
        int64 array of shape (n,), numbered from 0 in order of first appearance.

    >>> cluster_by_similarity([[1, 0], [0, 1], [2, 0]], 0.9).tolist()
    [0, 1, 0]
    """
    rows = unit_rows(np.asarray(vectors)).astype(np.float64)
    # The same text twice has a cosine a rounding error below 1.
    same = rows @ rows.T >= threshold - 1e-6
    return _components(same | np.eye(len(rows), dtype=bool))


def cluster_by_equivalence(
    texts: Sequence[str], equivalent: Callable[[str, str], bool]
) -> NDArray[np.int64]:
    """Return one cluster label a text: texts that `equivalent` joins belong together.

    Args:
        texts: n texts.
        equivalent: Symmetric. Called once for each pair of distinct texts; for one-way entailment
            pass `lambda a, b: entails(a, b) and entails(b, a)`.

    Returns:
        int64 array of shape (n,), numbered from 0 in order of first appearance.

    >>> cluster_by_equivalence(["Paris", "Rome", "PARIS"], lambda a, b: a.lower() == b.lower())
    array([0, 1, 0])
    """
    distinct = list(dict.fromkeys(texts))
    same = np.eye(len(distinct), dtype=bool)
    for i, left in enumerate(distinct):
        for j in range(i + 1, len(distinct)):
            same[i, j] = same[j, i] = bool(equivalent(left, distinct[j]))
    position = {text: index for index, text in enumerate(distinct)}
    return _components(same)[[position[text] for text in texts]]


def _components(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    reach = same
    while not np.array_equal(wider := reach @ reach, reach):
        reach = wider
    _, labels = np.unique(reach.argmax(axis=1), return_inverse=True)
    return labels.astype(np.int64)


def answer_prompt(query: str, passages: Sequence[str]) -> str:
    """Return the question put to the generator, with the passages as its only source.

    Without passages the model is asked for what it knows by itself. Short answers are asked for,
    since their meanings can be told apart by similarity.
    """
    if passages:
        listed = "\n\n".join(f"[{n}] {text}" for n, text in enumerate(passages, start=1))
        source = f"Answer from these passages:\n\n{listed}"
    else:
        source = "Answer from what you know."
    prompt = (
        f"{source}\n\nQuestion: {query}\n\nReply with the answer alone, in as few words as you "
        "can. If there is none to be found, reply: unknown."
    )
    # Lone surrogates cannot be sent as UTF-8.
    return prompt.encode("utf-8", "replace").decode("utf-8")


_NEGATIONS = frozenset({"no", "not", "nor", "cannot"})


def gist(query: str, answer: str) -> str:
    """Return what `answer` adds to the question: its words without the query's and function words.

    Two opposite answers in whole sentences repeat the question and so resemble each other more
    than they differ. An answer of nothing but such words ("Rome" to "Rome or Paris?") stays whole.

    >>> gist("When was the bridge built?", "The bridge was built in 1874.")
    '1874'
    """
    words = tokens(answer)
    known = (frozenset(tokens(query)) | STOP_WORDS) - _NEGATIONS
    return " ".join([word for word in words if word not in known] or words)


def states(response: str, answer: str) -> bool:
    """Return True if the words of `answer` stand in `response` in a row, or the other way round.

    >>> states("The bridge was finished in 1874.", "1874")
    True
    """
    longer, shorter = sorted((tokens(response), tokens(answer)), key=len, reverse=True)
    width = len(shorter)
    return width > 0 and any(
        longer[start : start + width] == shorter for start in range(len(longer) - width + 1)
    )


class InfluenceScore:
    """Attribution by semantic entropy: IS_i = H_S(Y | all passages) - H_S(Y | passage i) (Eq. 6).

    The sign is the paper's: IS_i is minus the information that the other passages have and
    passage i lacks, so the higher, the more influential. A passage that makes the model sure of
    one answer, beside others that say something else, scores high.

    The paper ranks the passages and leaves the decision open. Ranking alone would accuse a passage
    that is off topic (the model is then sure that it cannot tell), and the score does not know the
    reported response. So here a passage is responsible if at least half of the answers sampled
    with it alone say what the response says, unless the model says so without any passage too.

    Costs `samples` calls for each passage, for all together, and for none: N (k + 2).

    Args:
        generate: Any model that `as_text_model` takes: the RAG system's own, at its own
            temperature. With temperature 0 or a response cache every entropy is 0.
        embedder: What `as_embedder` takes; tells the sampled answers apart. None means the
            built-in one, which sees words and not meanings: pass a sentence embedder, or
            `equivalent`.
        samples: N, the answers sampled for each set of passages.
        top_k: k, the passages retrieved for the query; they are the scope.
        similarity: Cosine from which the gist of two answers counts as one meaning.
        equivalent: Tells whether two answers mean the same; replaces the embedder's say.
        concurrency: Requests to the generator at the same time.
        prompt: (query, passages) -> prompt; the passages may be none. Pass the RAG system's own.

    Raises:
        InvalidInputError: `generate` is no model, or a number is out of range.
    """

    def __init__(
        self,
        *,
        generate: Any,
        embedder: Any = None,
        samples: int = 5,
        top_k: int = 5,
        similarity: float = 0.8,
        equivalent: Callable[[str, str], bool] | None = None,
        concurrency: int = 8,
        prompt: Callable[[str, Sequence[str]], str] = answer_prompt,
    ) -> None:
        if samples < 2 or top_k < 1 or concurrency < 1 or not 0.0 < similarity <= 1.0:
            raise InvalidInputError(
                "samples must be at least 2, top_k and concurrency at least 1 and similarity in "
                f"(0, 1]; got {samples}, {top_k}, {concurrency} and {similarity}"
            )
        self._generate = as_text_model(generate)
        self._embedder = CachedEmbedder(as_embedder(embedder))
        self._samples = samples
        self._top_k = top_k
        self._similarity = similarity
        self._equivalent = equivalent
        self._concurrency = concurrency
        self._prompt = prompt

    def attribute(self, query: str, response: str, retrieve: Retrieve) -> Attribution:
        """Return the Influence Score of the top k passages, and which of them are responsible.

        In the scores, `responsibility` is IS_i in bits. The method has no semantic correlation and
        no generation influence: both are 0.0, and `details["not_scored"]` names them.
        `details` also holds the entropies (bits) and, for each set of passages, the share of its
        samples that say what the response says.

        Raises:
            InvalidInputError: The query or the response is blank, or `retrieve` is not callable.
            GenerationError: The generator did not answer.
        """
        check_event(query, response, retrieve)
        model = self._generate.metered()
        sampling = self._sample(model, query, response, retrieve)
        return conclude(model, sampling, limit=self._concurrency)

    async def aattribute(self, query: str, response: str, retrieve: Retrieve) -> Attribution:
        """Return what `attribute` returns, without blocking the event loop.

        Raises:
            InvalidInputError: As `attribute`.
            GenerationError: As `attribute`.
        """
        check_event(query, response, retrieve)
        model = self._generate.metered()
        sampling = self._sample(model, query, response, retrieve)
        return await aconclude(model, sampling, limit=self._concurrency)

    def _sample(self, model: TextModel, query: str, response: str, retrieve: Retrieve) -> Dialogue:
        scope = as_passages(retrieve(query, self._top_k))[: self._top_k]
        texts = [passage.text for passage in scope]
        contexts = [texts, [], *([text] for text in texts)] if texts else []
        answers = yield [
            self._prompt(query, context) for context in contexts for _ in range(self._samples)
        ]
        groups = [
            answers[start : start + self._samples]
            for start in range(0, len(answers), self._samples)
        ]
        entropies = [semantic_entropy(self._cluster(query, group)) for group in groups]
        repeats = [self._repeated(query, group, response) for group in groups]
        return self._conclusion(model, query, response, scope, entropies, repeats)

    def _cluster(self, query: str, answers: Sequence[str]) -> NDArray[np.int64]:
        if self._equivalent is not None:
            return cluster_by_equivalence(answers, self._equivalent)
        gists = [gist(query, answer) for answer in answers]
        return cluster_by_similarity(self._embedder.embed(gists), self._similarity)

    def _repeated(self, query: str, answers: Sequence[str], response: str) -> float:
        """Return the share of `answers` that say what the response says.

        A response is often a sentence around what a short answer states, hence the first test.
        """
        claim = gist(query, response)
        same = {
            answer: states(claim, gist(query, answer))
            or bool(self._cluster(query, [response, answer]).max() == 0)
            for answer in set(answers)
        }
        return float(np.mean([same[answer] for answer in answers]))

    def _conclusion(
        self,
        model: TextModel,
        query: str,
        response: str,
        scope: Sequence[Passage],
        entropies: Sequence[float],
        repeats: Sequence[float],
    ) -> Attribution:
        cause, reason = _cause(repeats)
        similarities = embedding_similarity(self._embedder, query, scope)
        scores = [
            PassageScore(
                passage=passage,
                embedding_similarity=float(similarity),
                semantic_correlation=0.0,
                generation_influence=0.0,
                responsibility=entropies[0] - entropy,
                responsible=cause == "poisoning" and repeat >= 0.5,
            )
            for passage, similarity, entropy, repeat in zip(
                scope, similarities, entropies[2:], repeats[2:], strict=True
            )
        ]
        return Attribution(
            query=query,
            response=response,
            method="influence",
            responsible=[score.passage for score in scores if score.responsible],
            scores=scores,
            scope_size=len(scope),
            cause=cause,
            reason=reason,
            details={
                "samples": self._samples,
                "entropy_all": entropies[0] if scope else 0.0,
                "entropy_none": entropies[1] if scope else 0.0,
                "entropy_alone": list(entropies[2:]),
                "repeats_all": repeats[0] if scope else 0.0,
                "repeats_none": repeats[1] if scope else 0.0,
                "repeats_alone": list(repeats[2:]),
                "not_scored": ["semantic_correlation", "generation_influence"],
                **spent(model.usage),
            },
        )


def _cause(repeats: Sequence[float]) -> tuple[Cause, str]:
    if not repeats:
        return "unclear", "the knowledge base returned no passage for the query"
    together, unaided, *alone = repeats
    if unaided >= 0.5:
        return "model", (
            f"without any passage, the model gives the response in {unaided:.0%} of its answers"
        )
    guilty = sum(repeat >= 0.5 for repeat in alone)
    if guilty:
        return "poisoning", (
            f"{guilty} of {len(alone)} passages make the model give the response when it reads "
            f"them alone; without any passage it does so in {unaided:.0%} of its answers"
        )
    return "unclear", (
        "no passage alone makes the model give the response; with all of them it does so in "
        f"{together:.0%} of its answers"
    )
