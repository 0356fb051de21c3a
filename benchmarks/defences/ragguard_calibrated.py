"""Our guard, calibrated on clean traffic of the same kind, where it may touch 5 % of it.

The choosing half of a dataset is too few queries for 1 %. It is known to be clean, so that nothing
is refused for what it would teach.
"""

from benchmarks.defences.ours import guarding, mode, passages_of
from benchmarks.plugins import Setting
from ragguard import Guard


def _make(setting: Setting) -> Guard:
    guard = Guard(on_error="raise", alpha=0.05)
    traffic = [(one.question, passages_of(one)) for one in setting.clean]
    guard.calibrate(traffic, force=True)
    return guard


_MORE = "ragguard.calibrator"
DEFENCE = mode("ragguard, calibrated, 5 %", guarding(_make), _MORE, sees="clean traffic")
