"""RAGForensics with stand-ins for its judge, where there is no language model.

None of these understands language. They answer prompts as `ragguard` words them, so that the method
runs as it would on a model: same prompts, same number of calls, same reading of answers. What they
measure is the method on a judge of known behaviour.
"""

import re
from collections.abc import Callable

from benchmarks.plugins import About, AttributorPlugin, Setting
from ragguard.attribution import RAGForensics

Finds = Callable[[str, str, str], bool]
"""Whether a judge says yes, from question, passage and response."""

_TAGGED = re.compile(r"<(question|passage|response)>\n(.*?)\n</\1>", re.DOTALL)


def judge_that(finds: Finds) -> Callable[[str], str]:
    """Return a judge that answers RAGForensics' prompts by what they hold."""

    def judge(prompt: str) -> str:
        texts = dict(_TAGGED.findall(prompt))
        guilty = finds(texts["question"], texts["passage"], texts["response"])
        return f"[Label: {'Yes' if guilty else 'No'}]"

    return judge


def judged_by(
    title: str, paper: str, venue: str, finds: Callable[[Setting], Finds]
) -> AttributorPlugin:
    """Return RAGForensics with a stand-in for its judge."""
    return AttributorPlugin(
        About(title, paper, venue, "one wrong answer", "nothing", "templated"),
        lambda setting: RAGForensics(judge=judge_that(finds(setting)), top_k=setting.k),
    )
