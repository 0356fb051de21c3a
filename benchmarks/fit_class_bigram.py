"""Fits `ragguard.inline.features.gibberish`: `python -m benchmarks.fit_class_bigram --data DIR`.

The texts are the plain ones of the folder without any that was retrieved for a question: a model
that has read the choosing half finds it more natural than what comes later, and a calibration on it
would let the gate fire too often. Words are put into classes by what stands next to them (Schütze
1995: singular vectors of neighbour counts, then k-means), pairs of classes are counted, and the
counts become oddness, whose zero is taken from the choosing half.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD

from benchmarks.command import ERRORS, Data, Out, script
from benchmarks.datasets import Dataset, load_folder, texts_in
from ragguard.inline import class_bigram as bigrams
from ragguard.inline.features.gibberish import gibberish
from ragguard.text import tokens

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WORDS = 32_000
_FREQUENT = 4096
_OWN_CLASS = 48  # the most frequent words, function words nearly all, are each a class
_CLASSES = 256
_NEIGHBOURS = 500  # how many frequent words count as context
_DIMENSIONS = 60
_FEW = 20.0  # neighbours of a word at which half of what is seen is believed
_PSEUDO_COUNT = 2.0
_FURTHEST = 2.0  # nats
_WORD_SHARE = 0.25
_WINDOW = 24
_NATURAL = 0.85
_SEED = 0


def plain_texts(folder: Path, datasets: Sequence[Dataset]) -> list[str]:
    """Return every text that the model may learn from, once."""
    pages = texts_in(folder, "wikipedia_passages")
    contexts = texts_in(folder, "reading_comprehension", "context")
    retrieved = {hit for data in datasets for record in data.records for hit in record.hits}
    return [text for text in dict.fromkeys([*pages, *contexts]) if text not in retrieved]


def fit(texts: Sequence[Sequence[str]], natural: Sequence[Sequence[str]]) -> bigrams.ClassBigram:
    """Return the model of language that texts give, each the list of its words.

    The worst `_WINDOW` words of all but 15 % of the `natural` texts have a mean below its zero.
    """
    spread = Counter(word for words in texts for word in set(words))
    counts = Counter(word for words in texts for word in words)
    # Equally frequent words in alphabetical order: the same words on every machine.
    listed = sorted(filter(str.isalpha, spread), key=lambda word: (-spread[word], word))[:_WORDS]
    numbers = {word: number for number, word in enumerate(listed)}
    # Words that are not listed have negative numbers, by shape.
    sequences = [
        np.array([numbers.get(w, -1 - bigrams.shape(w)) for w in words]) for words in texts
    ]
    class_of = _classes(sequences, len(listed))
    pairs = np.zeros((_CLASSES, _CLASSES))
    for sequence in sequences:
        codes = np.where(sequence >= 0, class_of[np.maximum(sequence, 0)], -1 - sequence)
        np.add.at(pairs, (codes[:-1], codes[1:]), 1.0)
    oddness = _oddness(pairs, _choice_of_word(counts, numbers, class_of))
    classes = bigrams.WordClasses(zip(listed, class_of.tolist(), strict=True))
    oddness -= np.quantile([_worst_window(oddness, classes, words) for words in natural], _NATURAL)
    oddness[bigrams.OTHER_SCRIPT, :] = oddness[:, bigrams.OTHER_SCRIPT] = 0.0
    table = np.clip(np.round(oddness * bigrams.UNITS), -127, 127).astype(np.int32)
    return bigrams.ClassBigram(classes, np.ascontiguousarray(table.T).ravel())


def _classes(sequences: Sequence[Ints], size: int) -> Ints:
    """Return a class for each of `size` words, from `SHAPES` on, by the words next to it."""
    context = _NEIGHBOURS + bigrams.SHAPES + 1
    rows, columns = [], []
    for numbers in sequences:
        near = np.where(numbers < 0, _NEIGHBOURS - 1 - numbers, np.minimum(numbers, context - 1))
        near[numbers >= _NEIGHBOURS] = context - 1
        for words, beside in ((numbers[:-1], near[1:]), (numbers[1:], near[:-1] + context)):
            rows.append(words[words >= 0])
            columns.append(beside[words >= 0])
    row, column = np.concatenate(rows), np.concatenate(columns)
    seen = csr_matrix((np.ones(len(row)), (row, column)), shape=(size, 2 * context))
    seen.sum_duplicates()
    total = np.asarray(seen.sum(axis=1)).ravel()
    expected = np.maximum(np.asarray(seen.sum(axis=0)).ravel(), 1.0) / len(row)
    cells = seen.tocoo()
    above = np.log1p(cells.data / (total[cells.row] + _FEW) / expected[cells.col])
    weighed = csr_matrix((above, (cells.row, cells.col)), shape=seen.shape)
    vectors = TruncatedSVD(_DIMENSIONS, random_state=_SEED).fit_transform(weighed)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    clusters = MiniBatchKMeans(
        _CLASSES - bigrams.SHAPES - _OWN_CLASS, random_state=_SEED, n_init=3, batch_size=4096
    ).fit(vectors[_OWN_CLASS:], sample_weight=np.sqrt(total[_OWN_CLASS:]))
    return np.concatenate([np.arange(_OWN_CLASS), _OWN_CLASS + clusters.labels_]) + bigrams.SHAPES


def _choice_of_word(counts: Counter[str], numbers: dict[str, int], class_of: Ints) -> Floats:
    """Return, per class, the entropy in nats of which of its words is written."""
    entropy = np.zeros(_CLASSES)
    often = np.array([counts[word] for word in numbers], dtype=np.float64)
    share = often / np.bincount(class_of, often, minlength=_CLASSES)[class_of]
    np.add.at(entropy, class_of, -share * np.log(share))
    # Of the words that are not listed any may come, and most are seen once.
    kinds = Counter(bigrams.shape(word) for word in counts if word not in numbers)
    for number, size in kinds.items():
        entropy[number] = np.log(size)
    return entropy


def _oddness(pairs: Floats, choice: Floats) -> Floats:
    """Return the oddness in nats of every pair of classes (first, second).

    The surprisal of the second class after the first, and a part of how many words the class has:
    in full it would hold names and terms against a text, which are rare and natural.
    """
    total = pairs.sum()
    first, second = pairs.sum(axis=1) / total, pairs.sum(axis=0) / total
    chance = np.outer(first, second) * total
    association = np.log((pairs + _PSEUDO_COUNT) / (chance + _PSEUDO_COUNT))
    rare = -np.log(np.maximum(second, 1.0 / total))
    oddness: Floats = rare - np.clip(association, -_FURTHEST, _FURTHEST) + _WORD_SHARE * choice
    return oddness


def _worst_window(oddness: Floats, classes: bigrams.WordClasses, words: Sequence[str]) -> float:
    codes = np.array([classes[word] for word in words], dtype=np.int64)
    found = oddness[codes[:-1], codes[1:]]
    if len(found) <= _WINDOW:
        return float(found.mean()) if len(found) else 0.0
    sums = np.concatenate([[0.0], np.cumsum(found)])
    return float((sums[_WINDOW:] - sums[:-_WINDOW]).max() / _WINDOW)


def write(path: Path, model: bigrams.ClassBigram) -> None:
    """Write a model, its words in order of frequency, as `class_bigram` reads it."""
    by_frequency = list(model.classes)
    # In a table read in this order the words that are looked up most lie together in memory
    # (8 to 12 % faster). In alphabetical order they take up less room in the file.
    words = sorted(by_frequency[:_FREQUENT]) + sorted(by_frequency[_FREQUENT:])
    arrays: dict[str, Any] = {
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        "classes": np.array([model.classes[word] for word in words], dtype=np.uint8),
        "oddness": model.oddness.astype(np.int8),
    }
    np.savez_compressed(path, **arrays)


@script
def main(data: Data, out: Out = None) -> None:
    """Fit, compare with the shipped model, and write the fitted one if asked to."""
    datasets = load_folder(data)
    hits = [hit for data in datasets for record in data.choosing for hit in record.hits]
    natural = [tokens(text) for text in dict.fromkeys(hits)]
    fitted = fit([tokens(text) for text in plain_texts(data, datasets)], natural)
    if out is not None:
        write(out, fitted)
        ERRORS.print(f"{out}: {len(fitted.classes)} words")
    for name, model in (("fitted", fitted), ("shipped", bigrams.class_bigram())):
        found = [gibberish(words, model) for words in natural]
        shares = ", ".join(f"{q:.0%} {np.quantile(found, q):.3f}" for q in (0.5, 0.95, 0.99))
        ERRORS.print(f"{name}: gibberish of the choosing half's hits: {shares}")
