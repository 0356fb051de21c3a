"""What the modes of our guard share."""

from collections.abc import Callable

from benchmarks.plugins import About, Case, Decision, Defence, Judge, Setting
from benchmarks.retrieval import OVER_FETCH, RetrievedSet
from ragguard import Guard, Passage

MEASURES = tuple(f"ragguard.{name}" for name in ("inline", "filtering", "prompt_injection", "text"))


def passages_of(retrieved: RetrievedSet) -> list[Passage]:
    """Return what was retrieved as a caller hands it over, its positions as ids."""
    rows = zip(retrieved.texts, retrieved.embeddings, strict=True)
    return [Passage(text, id=str(at), embedding=row) for at, (text, row) in enumerate(rows)]


def filtered(guard: Guard, case: Case) -> Decision:
    """Return what a guard keeps of a case."""
    retrieved = case.retrieved
    verdict = guard.filter(retrieved.question, passages_of(retrieved), k=case.k)
    kept = tuple(int(passage.id) for passage in verdict.kept)[: case.k]
    return Decision(kept, marked=bool(verdict.marked), p_value=verdict.p_value)


def guarding(make: Callable[[Setting], Guard]) -> Callable[[Setting], Judge]:
    """Return what judges cases with one guard."""

    def made(setting: Setting) -> Judge:
        guard = make(setting)
        return lambda case: filtered(guard, case)

    return made


def mode(
    title: str, make: Callable[[Setting], Judge], *more: str, sees: str = "one query"
) -> Defence:
    """Return a mode of our guard, given 3 k passages, as a plug-in that measures `more` as well."""
    about = About(title, "ragguard", "this project", sees)
    return Defence(about, make, OVER_FETCH, (*MEASURES, *more))
