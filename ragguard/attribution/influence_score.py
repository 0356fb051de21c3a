"""Influence Score: how much surer one passage alone makes the model than all passages together.

    IS_i = H_S(Y | all passages) - H_S(Y | passage i),    H_S = -sum_c p_c log2 p_c

H_S is the semantic entropy: over how many meanings c the sampled answers Y spread. The sign is the
paper's: a passage that makes the model sure of one answer, beside others that say something else,
scores high.

Here p_c is the share of the samples in cluster c (Kuhn et al., "Semantic Uncertainty", arXiv
2302.09664). The paper's section 4 normalises similarities instead, p_i = score_i / sum score_j.

Source: "Quantifying Document Impact in RAG-LLMs" (anonymous submission), Equation 6, which is what
remains of Eq. 4 and 5: the entropy without any passage stands in both and cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ragguard.arguments import foreign, require_callable, require_number, require_whole
from ragguard.attribution.claim import contains_phrase
from ragguard.attribution.prompts import short_answer_prompt
from ragguard.attribution.refusal import is_refusal
from ragguard.attribution.result import Cause, Retrieve
from ragguard.attribution.rounds import Conclusion, LLMAttributor, Rounds
from ragguard.embedding.adapt import unit_rows
from ragguard.errors import InvalidInputError
from ragguard.text import STOP_WORDS, tokens

_NEGATIONS = frozenset({"no", "not", "nor", "cannot"})


class InfluenceScore(LLMAttributor):
    """Attribution by semantic entropy.

    Of samples that refuse or say that the answer is unknown the paper is silent: each counts as a
    meaning of its own (`abstentions_apart`), unless the response does so too.

    The paper ranks the passages and leaves the decision open, and the score does not know the
    reported response. So here a passage is responsible if at least half of the answers sampled
    with it alone say what the response says, unless the model says so without any passage too.

    In the scores, `responsibility` is IS_i in bits. `details` holds "samples", the entropies (bits)
    with all passages, with none and with each alone, and for each of these sets of passages the
    share of its samples that say what the response says ("repeats_all", ...).

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
        InvalidInputError: `generate` is no model, or a number is of another type or out of range.
    """

    _method = "influence"

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
        prompt: Callable[[str, Sequence[str]], str] = short_answer_prompt,
    ) -> None:
        similarity = require_number("similarity", similarity)
        if not 0.0 < similarity <= 1.0:
            raise InvalidInputError(f"similarity must be in (0, 1], not {similarity:g}; try 0.8")
        require_callable(prompt=prompt, equivalent=bool if equivalent is None else equivalent)
        super().__init__(generate, embedder=embedder, concurrency=concurrency)
        self._samples = require_whole("samples", samples, least=2)
        self._top_k = require_whole("top_k", top_k)
        self._similarity = similarity
        self._equivalent = equivalent
        self._prompt = prompt

    def _rounds(self, query: str, response: str, retrieve: Retrieve) -> Rounds:
        scope = retrieve(query, self._top_k)
        texts = [passage.text for passage in scope]
        contexts = [texts, [], *([text] for text in texts)] if texts else []
        with foreign("prompt"):
            prompts = [self._prompt(query, one) for one in contexts for _ in range(self._samples)]
        answers = yield prompts
        groups = np.array(answers, object).reshape(-1, self._samples).tolist()
        entropies = [self._entropy(query, response, group) for group in groups] or [0.0, 0.0]
        shares = [self._repeated(query, group, response) for group in groups]
        cause, reason = _cause(shares)
        repeats = shares or [0.0, 0.0]
        details: dict[str, Any] = {"samples": self._samples}
        for name, (together, unaided, *alone) in (("entropy", entropies), ("repeats", repeats)):
            details |= {f"{name}_all": together, f"{name}_none": unaided, f"{name}_alone": alone}
        return Conclusion(
            scope,
            [entropies[0] - entropy for entropy in entropies[2:]],
            [cause == "poisoning" and repeat >= 0.5 for repeat in repeats[2:]],
            (cause, reason),
            details,
        )

    def _entropy(self, query: str, response: str, answers: Sequence[str]) -> float:
        labels = self._cluster(query, answers)
        if not is_refusal(query, response):
            labels = abstentions_apart(labels, [is_refusal(query, answer) for answer in answers])
        return semantic_entropy(labels)

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


def semantic_entropy(labels: ArrayLike) -> float:
    """Return the entropy of the meanings of sampled responses, in bits.

    p_c is the share of the samples in meaning c of `labels`, an int array of shape (n,). The paper
    (section 4, step 6) prints the sum without its minus sign, against its own words (low when the
    answers agree), and takes p from similarity scores. Counting clusters is Kuhn's way.

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

    Clusters are the connected components of that relation among the n `vectors`, of any length; a
    zero row is like no other. int64 array of shape (n,), numbered in order of first appearance.

    >>> cluster_by_similarity([[1, 0], [0, 1], [2, 0]], 0.9).tolist()
    [0, 1, 0]
    """
    rows = unit_rows(np.asarray(vectors)).astype(np.float64)
    # The same text twice has a cosine a rounding error below 1.
    return _components(rows @ rows.T >= threshold - 1e-6)


def cluster_by_equivalence(
    texts: Sequence[str], equivalent: Callable[[str, str], bool]
) -> NDArray[np.int64]:
    """Return one cluster label a text: texts that `equivalent` joins belong together.

    `equivalent` is symmetric, and is called once for each pair of distinct texts; for one-way
    entailment pass `lambda a, b: entails(a, b) and entails(b, a)`. Labels as those of
    `cluster_by_similarity`.

    >>> cluster_by_equivalence(["Paris", "Rome", "PARIS"], lambda a, b: a.lower() == b.lower())
    array([0, 1, 0])
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    same = np.eye(len(places), dtype=bool)
    with foreign("equivalent"):
        for (left, i), (right, j) in combinations(places.items(), 2):
            same[i, j] = bool(equivalent(left, right))
    return _components(same)[[places[text] for text in texts]]


def _components(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    _, labels = connected_components(same, directed=False)
    return np.asarray(labels, dtype=np.int64)


def abstentions_apart(labels: ArrayLike, abstained: ArrayLike) -> NDArray[np.int64]:
    """Return the labels with every sample that abstains in a meaning of its own.

    As one meaning, ten times "unknown" would have an entropy of 0, as from the surest passage of
    all. Both arrays have shape (n,).

    >>> abstentions_apart([0, 1, 1, 1], [False, True, True, False]).tolist()
    [0, 3, 4, 1]
    """
    found = np.asarray(labels, dtype=np.int64)
    fresh = found.max(initial=-1) + 1 + np.arange(len(found))
    # Numbers that are left out between the labels mean nothing.
    return np.where(np.asarray(abstained, dtype=bool), fresh, found)


def gist(query: str, answer: str) -> str:
    """Return what `answer` adds to the question: its words without the query's and function words.

    Sentences that repeat the question resemble each other even where they contradict. An answer of
    nothing but such words ("Rome" to "Rome or Paris?") stays whole.

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
    return contains_phrase(longer, shorter)
