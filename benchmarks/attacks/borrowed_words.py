"""Similarity without the question's words: words of the hits and of other false texts in front.

The words are found by hill climbing on similarity to the question alone, with the built-in
embedder; none of them is a word of the question.
"""

import re
from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import OURS, argued
from benchmarks.datasets import Record
from benchmarks.plugins import About, Attack
from ragguard.embedding import HashedEmbedder
from ragguard.text import STOP_WORDS, tokens

_WORD = re.compile(r"[^\W\d_]{3,}")
_READ, _TRIED, _MOST = 10, 24, 8  # texts read for words; words tried a step; words added


def _plant(record: Record, count: int, _: Random) -> Sequence[str]:
    embed, texts = HashedEmbedder().embed, argued(record, _READ)
    asked, known = embed([record.question])[0], {*tokens(record.question), *STOP_WORDS}
    read = " ".join([*record.hits[:_READ], *texts]).lower()
    words = [w for w in dict.fromkeys(_WORD.findall(read)) if known.isdisjoint([w, *tokens(w)])]
    if words:
        near = embed(words) @ asked
        words = sorted(words, key=dict(zip(words, near.tolist(), strict=True)).__getitem__)
    planted = []
    for text in texts[:count]:
        form, best = text, float(embed([text])[0] @ asked)
        chosen: list[str] = []
        left = words[-_TRIED:]
        while left and len(chosen) < _MOST:
            tried = [f"{', '.join([*chosen, word]).capitalize()}. {text}" for word in left]
            similarity = embed(tried) @ asked
            at = int(similarity.argmax())
            if similarity[at] <= best:
                break
            best, form = float(similarity[at]), tried[at]
            chosen.append(left.pop(at))
        planted.append(form)
    return planted


ATTACK = Attack(About("borrowed words", *OURS, "vectors"), _plant)
