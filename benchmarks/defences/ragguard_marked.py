"""Our guard, where the caller drops what it marks as unusual as well."""

from benchmarks.defences.ours import mode, passages_of
from benchmarks.plugins import Case, Decision, Judge, Setting
from ragguard import Guard


def _make(_: Setting) -> Judge:
    guard = Guard(on_error="raise")

    def judge(case: Case) -> Decision:
        verdict = guard.filter(case.retrieved.question, passages_of(case.retrieved))
        marked = {passage.id for passage in verdict.marked}
        kept = [int(passage.id) for passage in verdict.kept if passage.id not in marked]
        return Decision(tuple(kept[: case.k]), marked=bool(marked))

    return judge


DEFENCE = mode("ragguard, marked dropped too", _make)
