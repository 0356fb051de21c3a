"""Leave-one-out: what the response loses without each passage."""

from benchmarks.attributors.ablation import LeaveOneOut
from benchmarks.plugins import About, AttributorPlugin

__all__ = ["ATTRIBUTOR"]

ATTRIBUTOR = AttributorPlugin(
    About("leave-one-out", "folklore", "", "one wrong answer", "language model"),
    lambda setting: LeaveOneOut(top_k=setting.k),
)
