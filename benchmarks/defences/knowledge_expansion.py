"""Knowledge expansion: the reader gets four times as many passages, so that poison is fewer."""

from benchmarks.plugins import About, Case, Decision, Defence


def _judge(case: Case) -> Decision:
    return Decision(tuple(range(len(case.retrieved.texts))))


DEFENCE = Defence(
    About(
        "knowledge expansion, 4 k",
        "PoisonedRAG, Section 7",
        "USENIX Security 2025",
        "sees nothing",
    ),
    lambda _: _judge,
    over_fetch=4,
)
