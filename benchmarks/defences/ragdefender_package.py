"""RAGDefender as its authors published it, in the mode that fits the data."""

from benchmarks.defences.contenders import MULTI_HOP, PACKAGE, package_version, packaged
from benchmarks.plugins import About, Case, Decision, Defence, Judge, Setting
from ragguard.errors import InvalidInputError


def _make(setting: Setting) -> Judge:
    if package_version() is None:
        raise InvalidInputError(f"install the package {PACKAGE}, and torch, to measure it")
    bound = packaged("multi_hop" if setting.dataset.name in MULTI_HOP else "single_hop")
    for first in setting.clean[:1]:
        bound.bind(first, setting.k)()  # what it imports then is not what a query takes

    def judge(case: Case) -> Decision:
        return Decision(bound.outcome(bound.bind(case.retrieved, case.k)(), case.k).kept)

    return judge


DEFENCE = Defence(
    About("RAGDefender, package", "RAGDefender", "ACSAC 2025", "one query", "vectors"),
    _make,
    measures=(f"dist:{PACKAGE}",),
)
