"""Our scan of passages before they are searchable, and the guard behind it."""

from dataclasses import replace

from benchmarks.defences.ours import MEASURES, filtered, mode, passages_of
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


_mode = mode("ragguard, with the scan", _make, sees="passages as they come in", over_fetch=3)
DEFENCE = replace(_mode, measures=(*MEASURES, "ragguard.admission"))
