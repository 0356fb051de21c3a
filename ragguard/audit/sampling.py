"""Which of the recorded queries are kept: a uniform sample of all of them, and the newest."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ragguard.audit.records import ScoredQuery

__all__ = ["RECENT_SIZE", "SAMPLE_SIZE", "retained", "sampled"]

SAMPLE_SIZE = 2000
"""How many queries the sample holds: enough to calibrate for an alpha of 0.0005."""

RECENT_SIZE = 1000
"""How many of the newest queries are kept beside the sample."""


def sampled(scored: Sequence[ScoredQuery], size: int = SAMPLE_SIZE) -> list[ScoredQuery]:
    """Return the `size` records of lowest priority, in their order.

    With independent uniform priorities this is a reservoir sample: every record that was ever seen
    is in it with the same probability (Efraimidis and Spirakis, 2006, with equal weights), and
    samples of several writers merge into a sample of the whole.
    """
    lowest = sorted(range(len(scored)), key=lambda position: scored[position].priority)[:size]
    return [scored[position] for position in sorted(lowest)]


def retained(
    scored: Sequence[ScoredQuery], *, sample: int, recent: int, scorers: Set[str]
) -> list[ScoredQuery]:
    """Return what a store keeps, in order.

    Of each of `scorers` the `sample` records of lowest priority and the last `recent`; of other
    scorers everything.
    """
    kept = {id(record) for record in scored if record.scorer not in scorers}
    for scorer in scorers:
        mine = [record for record in scored if record.scorer == scorer]
        newest = mine[max(0, len(mine) - recent) :]
        kept |= {id(record) for record in (*newest, *sampled(mine, sample))}
    return [record for record in scored if id(record) in kept]
