"""The reader that can only choose: which candidate answer do the passages make more likely?

No model has to be installed, and none understands anything: it stands for a reader that believes
what it is told, and is never mixed with readers that write.
"""

from benchmarks.plugins import About, ReaderPlugin
from benchmarks.readers.base import Answer, Prompt, in_words
from ragguard.proxy import LexicalProxy

_GAIN = 0.5  # nats a word: less than that the passages do not say it


class _Likelihood:
    name = "likelihood of each candidate, lexical"

    def __init__(self) -> None:
        self._proxy = LexicalProxy()

    def words(self, prompt: Prompt) -> str:
        return "\n".join([in_words(prompt), *prompt.candidates])

    def answer(self, prompt: Prompt) -> Answer:
        context = "\n\n".join(prompt.passages)
        gains = []
        for candidate in prompt.candidates:
            scores = self._proxy.score([context, ""], prompt.question, candidate)
            told, untold = scores.generation_influence
            gains.append((float(told - untold), candidate))
        best, answer = max(gains, key=lambda one: one[0], default=(0.0, ""))
        return Answer(answer if best > _GAIN else "unknown", len(self.words(prompt).split()), 1)


_PAPER = ("query likelihood, Zhai and Lafferty", "TOIS 2004")
_ABOUT = About("likelihood, lexical", *_PAPER, "none", "nothing")
READER = ReaderPlugin(_ABOUT, _Likelihood, measures=("ragguard.proxy.lexical",))
