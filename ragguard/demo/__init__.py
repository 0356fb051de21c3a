"""A demo of the whole loop on a fictional knowledge base, without network."""

from __future__ import annotations

__all__ = ["main"]


def main(
    *, json: bool = False, questions: int | None = None, seed: int = 0, model: str | None = None
) -> int:
    """Run the demo, write its report to stdout and return an exit code.

    Args:
        json: Write the report as one JSON document instead of text.
        questions: How many questions to ask, 1 to 64; None for all, or 4 of a model.
        seed: Seed of the choice of questions and attacks.
        model: The name of an exported model that answers and attributes; None: no model.

    Returns:
        0 if the loop closed, else 1.

    Raises:
        InvalidInputError: `questions` is out of range.
        ProxyError: The model is not exported.
    """
    from json import dumps

    from rich.console import Console

    # On a terminal only, from the first moment on: the run takes some seconds.
    with Console(stderr=True).status("ragguard demo: starting") as status:
        from ragguard.demo.report import show
        from ragguard.demo.scenario import run_demo

        report = run_demo(
            questions=questions,
            seed=seed,
            model=model,
            on_stage=lambda stage: status.update(f"ragguard demo: {stage} ..."),
        )
    if json:
        Console().out(dumps(report, indent=2, allow_nan=False), highlight=False)
    else:
        show(report, Console())
    return 0 if report["worked"] else 1
