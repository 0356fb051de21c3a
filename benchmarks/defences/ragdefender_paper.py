"""RAGDefender as its paper has it: grouping by clustering, or by concentration for multi-hop."""

from benchmarks.defences.contenders import MULTI_HOP
from benchmarks.defences.ours import MEASURES, guarding
from benchmarks.plugins import About, Defence, Setting
from ragguard import Guard


def _make(setting: Setting) -> Guard:
    multi_hop = setting.dataset.name in MULTI_HOP
    return Guard.ragdefender(
        strategy="concentration" if multi_hop else "clustering", on_error="raise"
    )


DEFENCE = Defence(
    About("RAGDefender, paper", "RAGDefender", "ACSAC 2025", "one query", "vectors"),
    guarding(_make),
    measures=MEASURES,
)
