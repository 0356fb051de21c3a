"""ReliabilityRAG: passages whose answers contradict each other are not read together.

The paper asks an entailment model which answers contradict; here two answers do if neither holds
the other's words. Of the largest sets without a contradiction the best ranked is kept.
"""

from benchmarks.metrics.matching import place, refuses
from benchmarks.plugins import About, Case, Decision, Defence


def _agree(first: str, second: str) -> bool:
    return place(first, [second]) is not None or place(second, [first]) is not None


def _judge(case: Case) -> Decision:
    everything = tuple(range(len(case.retrieved.texts)))
    answers = [case.read(case.prompt([position])).text for position in everything]
    silent = [position for position in everything if refuses(answers[position])]
    sets: list[list[int]] = []
    for position in everything:
        if position in silent:
            continue
        here = [one for one in sets if all(_agree(answers[position], answers[at]) for at in one)]
        for one in here:
            one.append(position)
        if not here:
            sets.append([position])
    best = max(sets, key=len, default=[])
    return Decision(tuple(sorted({*best, *silent})))


_PAPER = ("ReliabilityRAG, Shen et al., arXiv 2509.23519", "NeurIPS 2025")
_ABOUT = About("ReliabilityRAG", *_PAPER, "one query", "language model", "templated")
DEFENCE = Defence(_ABOUT, lambda _: _judge)
