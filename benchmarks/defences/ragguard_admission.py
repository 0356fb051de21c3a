"""Our scan of passages before they are searchable, and the guard behind it."""

from benchmarks.defences.ours import filtered, mode, passages_of
from benchmarks.plugins import Case, Decision, Judge, Setting
from ragguard import Guard


def _make(_: Setting) -> Judge:
    guard = Guard(on_error="raise")

    def judge(case: Case) -> Decision:
        passages = passages_of(case.retrieved)
        found = guard.admit(passages)
        refused = {int(one.passage_id) for one in found if one.status == "refused"}
        kept = filtered(guard, case).kept
        return Decision(tuple(at for at in kept if at not in refused))

    return judge


_SEES = "passages as they come in"
DEFENCE = mode("ragguard, with the scan", _make, "ragguard.admission", sees=_SEES)
