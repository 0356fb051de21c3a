"""What the backdoor attacks share: texts that are found and obeyed when a trigger is asked."""

from collections.abc import Callable

from benchmarks.attacks.texts import templated
from benchmarks.plugins import About, Attack

__all__ = ["backdoor"]


def backdoor(title: str, paper: str, venue: str, trigger: str, template: str) -> Attack:
    """Return an attack whose texts carry a trigger that the victim types as well.

    Args:
        title: Its name in tables.
        paper: Where it comes from.
        venue: Where that was published.
        trigger: Words behind the question.
        template: What is planted; names {trigger}, and what `templated` fills in.
    """
    ask: Callable[[str], str] = lambda question: f"{question.rstrip('?')} {trigger}?"  # noqa: E731
    return Attack(
        About(title, paper, venue, "the user types a trigger", "gradient", "templated"),
        templated(template.replace("{trigger}", trigger)),
        ask,
    )
