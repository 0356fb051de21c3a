"""Our loop: where the answer is the attacker's a user reports it, and the next one asks again.

RAGOrigin attributes the report to passages of what was shown; a person confirms what it proposes.
What is counted is the answer to the same question after that.
"""

from benchmarks.defences.ours import filtered, mode, passages_of
from benchmarks.metrics.matching import judged
from benchmarks.plugins import Case, Decision, Judge, Setting
from ragguard import Guard

_WAIT = 600.0  # seconds


def _make(_: Setting) -> Judge:

    def judge(case: Case) -> Decision:
        with Guard(on_error="raise", policy="review") as guard:
            first = filtered(guard, case)
            answer = case.read(case.prompt(first.kept)).text
            if not judged(answer, case.record.correct, case.record.incorrect)[1]:
                return first
            shown = passages_of(case.retrieved)
            event = guard.report(case.retrieved.question, answer, passages=shown)
            guard.attribution(event, timeout=_WAIT)
            for entry in guard.proposals():
                guard.confirm(entry, actor="operator")
            return filtered(guard, case)

    return judge


_MORE = tuple(f"ragguard.{one}" for one in "attribution background guard_reports proxy".split())
DEFENCE = mode("ragguard, after one report", _make, *_MORE, sees="one query, one report")
