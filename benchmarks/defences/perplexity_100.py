"""Perplexity: passages are dropped above the 100th percentile of clean ones.

The papers take a large model's perplexity; here each word's surprise is that of the lexical
proxy before it has read anything, so that nothing has to be downloaded.
"""

from benchmarks.defences.perplexity import perplexity
from benchmarks.defences.quantile import above
from benchmarks.plugins import About, Defence

DEFENCE = Defence(
    About(
        "perplexity, 100 %",
        "Detecting Language Model Attacks with Perplexity, Alon and Kamfonas",
        "arXiv 2308.14132",
        "clean passages",
        "language model",
        "templated",
    ),
    above(perplexity, 100.0),
    measures=("ragguard.proxy.lexical",),
)
