"""RAGDefender as its paper has it: grouping by clustering, or by concentration for multi-hop."""

from benchmarks.defences.ours import MEASURES, guarding
from benchmarks.plugins import About, Defence, Setting
from ragguard import Guard

_MULTI_HOP = "hotpotqa"


def _make(setting: Setting) -> Guard:
    if setting.dataset.name == _MULTI_HOP:
        return Guard.ragdefender(strategy="concentration", on_error="raise")
    return Guard.ragdefender(strategy="clustering", on_error="raise")


DEFENCE = Defence(
    About("RAGDefender, paper", "RAGDefender", "ACSAC 2025", "one query", "vectors"),
    guarding(_make),
    measures=MEASURES,
)
