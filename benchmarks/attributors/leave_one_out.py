"""Leave-one-out: what the response loses without each passage."""

from benchmarks.attributors.ablation import leave_one_out
from benchmarks.plugins import About, AttributorPlugin

ATTRIBUTOR = AttributorPlugin(
    About("leave-one-out", "folklore", "", "one wrong answer", "language model"),
    lambda setting: leave_one_out(top_k=setting.k),
)
