"""What attributors share that judge each passage of RAGForensics' search by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.plugins import About, AttributorPlugin, Setting
from ragguard.attribution import RAGForensics

__all__ = ["judged_by"]


def judged_by(
    title: str, paper: str, venue: str, judge: Callable[[Setting], Any]
) -> AttributorPlugin:
    """Return RAGForensics with a stand-in for its judge.

    Args:
        title: Its name in tables.
        paper: Where the judge comes from.
        venue: Where that was published.
        judge: From the setting to what answers RAGForensics' prompts.
    """
    return AttributorPlugin(
        About(title, paper, venue, "one wrong answer", "nothing", "templated"),
        lambda setting: RAGForensics(judge=judge(setting), top_k=setting.k),
    )
