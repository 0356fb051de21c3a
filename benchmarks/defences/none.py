"""No defence: everything that was retrieved reaches the reader."""

from benchmarks.plugins import About, Case, Decision, Defence


def _judge(case: Case) -> Decision:
    return Decision(tuple(range(len(case.retrieved.texts))))


DEFENCE = Defence(About("no defence", "", "", "sees nothing"), lambda _: _judge)
