"""What each part of attribution is worth: RAGOrigin with parts replaced or left out.

Runnable: `python -m benchmarks.attribution_ablations --data DIR --json OUT`.

Events and measures are those of `benchmarks.misgeneration`, kinds the main ones, five planted
texts or one that states the answer, the short response. "the paper" is Section 5 as it is printed:
plain mean of the z-scores, 2-means, Eq. 4 for the scope, no abstention; it differs from the paper's
own figures in the proxy and in the scope's probe, which asks no language model here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from benchmarks.attribution_events import (
    Selection,
    clean_event,
    poisoned_events,
    single_events,
)
from benchmarks.attribution_rows import ONE_TEXT, Outcomes, summary
from benchmarks.attributors.ablation import AblationScore, LeaveOneOut
from benchmarks.command import half_parser
from benchmarks.misgeneration import MAIN_KINDS, MAX_SCOPE, TOP_K, Event, rounded
from benchmarks.report.result import describe_run, write
from ragguard.attribution import Attribution, PassageScore
from ragguard.attribution.ragorigin.abstention import Evidence, find_cause
from ragguard.attribution.ragorigin.responsibility import Weigh, responsibility, separation
from ragguard.attribution.ragorigin.scope import MIN_SCOPE, Ranking, Scope, narrow_scope
from ragguard.attribution.ragorigin.scores import embedding_similarity
from ragguard.attribution.ragorigin.support import MARGIN_UNTESTABLE, MIN_SUPPORT, SupportMeter
from ragguard.attribution.ragorigin.threshold import two_means
from ragguard.attribution.result import Attributor, Cause
from ragguard.embedding import CachedEmbedder, HashedEmbedder
from ragguard.passage import Passage
from ragguard.proxy import default

__all__ = ["VARIANTS", "Variant", "main", "run"]

_BASELINE_RECORDS = 15
_ES, _SC, _GC = 0, 1, 2


def equal(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the weights of scores in the paper's Eq. 8."""
    return np.ones(len(scores))


@dataclass(frozen=True)
class Variant:
    """RAGOrigin put together from its functions, with parts left out.

    Attributes:
        scores: Which of ES, SC and GC count, by position.
        weigh: The weights of scores: `separation`, or `equal` for Eq. 8 as it is printed.
        min_scope: Passages that the scope takes in at least; 0 for Eq. 4 alone.
        abstains: False: the higher cluster of 2-means is blamed in every event.
        marks: False: it does not matter whether the suspects carry the question.
        focuses: False: pages that speak of much else may lead to the response as well.
        weighs: False: a support of `SUFFICIENT_SUPPORT` is asked for, however far the suspects
            stand apart.
    """

    scores: tuple[int, ...] = (_ES, _SC, _GC)
    weigh: Weigh = separation
    min_scope: int = MIN_SCOPE
    abstains: bool = True
    marks: bool = True
    focuses: bool = True
    weighs: bool = True

    def attribute(self, found: Event, embedder: CachedEmbedder) -> Attribution:
        """Return whom this variant blames; the reason is left out."""
        meters = SupportMeter if self.focuses else _Unfocused
        meter = meters(default(), found.question, found.wrong)
        scope = narrow_scope(
            Ranking(found.retrieve, found.question),
            meter,
            top_k=TOP_K,
            max_scope=MAX_SCOPE,
            min_scope=self.min_scope,
        )
        texts = [passage.text for passage in scope.passages]
        support = meter.support(texts)
        similarity = embedding_similarity(embedder, found.question, scope.passages)
        columns = (similarity, *meter.scores(texts))
        wordless = meter.wordless and (support >= MIN_SUPPORT).any()
        influence = support if wordless else columns[_GC]
        evidence = Evidence(
            found.question,
            tuple((similarity, columns[_SC], influence)[i] for i in self.scores),
            support,
            meter.carried(texts) if self.marks else np.zeros(len(texts)),
            self.weigh,
        )
        combined = responsibility(evidence.scores, self.weigh)
        guilty, cause = self._blamed(combined, evidence, scope, meter)
        rows = [
            PassageScore(passage, float(es), float(sc), float(gc), float(rs), bool(blamed))
            for passage, es, sc, gc, rs, blamed in zip(
                scope.passages, *columns, combined, guilty, strict=True
            )
        ]
        responsible = [row.passage for row in rows if row.responsible]
        return Attribution(
            found.question, found.wrong, "variant", responsible, rows, len(rows), cause, ""
        )

    def _blamed(
        self,
        combined: NDArray[np.float64],
        evidence: Evidence,
        scope: Scope,
        probe: SupportMeter,
    ) -> tuple[NDArray[np.bool_], Cause]:
        if not self.abstains:
            high = two_means(combined).high
            return high, "poisoning" if high.any() else "unclear"
        finding = find_cause(
            scope, evidence, probe if self.weighs else _Unweighed(probe), top_k=TOP_K
        )
        return finding.responsible, finding.cause


@dataclass(frozen=True)
class _Unweighed:
    """A probe that does not know how far its suspects stand apart."""

    probe: SupportMeter

    def reproduces(self, passages: Sequence[Passage]) -> bool:
        return self.probe.reproduces(passages)

    def leads(self, passages: Sequence[Passage], standing: float) -> bool:
        del standing
        return self.probe.leads(passages, MARGIN_UNTESTABLE)


class _Unfocused(SupportMeter):
    """A meter that does not look at what else a text speaks of."""

    def written_for(self, texts: Sequence[str]) -> bool:
        del texts
        return True


VARIANTS: Mapping[str, Variant] = {
    "as shipped": Variant(),
    "plain mean (Eq. 8)": Variant(weigh=equal),
    "scope by Eq. 4 alone": Variant(min_scope=0),
    "without the mark of carriers": Variant(marks=False),
    "without asking for focus": Variant(focuses=False),
    "without weighing the standing": Variant(weighs=False),
    "no abstention": Variant(abstains=False),
    "without ES": Variant(scores=(_SC, _GC)),
    "without SC": Variant(scores=(_ES, _GC)),
    "without GC": Variant(scores=(_ES, _SC)),
    "the paper": Variant(weigh=equal, min_scope=0, abstains=False),
    f"the paper, scope of at least {MIN_SCOPE}": Variant(weigh=equal, abstains=False),
    "no abstention, ES alone": Variant(scores=(_ES,), abstains=False),
    "no abstention, SC alone": Variant(scores=(_SC,), abstains=False),
    "no abstention, GC alone": Variant(scores=(_GC,), abstains=False),
}
"""What is measured, by name."""


def run(selection: Selection, progress: Progress) -> dict[str, Any]:
    """Return rows for the variants, and for the baselines that take passages away.

    Raises:
        InvalidInputError: A line of a file is not a record.
    """
    embedder = CachedEmbedder(HashedEmbedder())
    outcomes = Outcomes()
    baselines: dict[str, Attributor | Variant] = {
        "leave-one-out": LeaveOneOut(top_k=TOP_K),
        "random ablations": AblationScore(top_k=TOP_K, seed=selection.seed),
        "as shipped": VARIANTS["as shipped"],
    }
    read: dict[tuple[str, str], list[tuple[int, int, int, int]]] = {}
    for name, targets, base in selection.datasets():
        bar = progress.add_task(f"ablations: {name}", total=len(targets))
        for number, target in enumerate(targets):
            events = [("clean", clean_event(target, base))]
            for kind, form, attack in poisoned_events(target, base, selection.seed):
                if kind in MAIN_KINDS:
                    events.append((form, attack))
            for form, found in events:
                stratum = {"form": form} if found.poison else {}
                for label, variant in VARIANTS.items():
                    attribution = variant.attribute(found, embedder)
                    outcomes.add(name, found, attribution, variant=label, **stratum)
                if number < _BASELINE_RECORDS:
                    for label, method in baselines.items():
                        read.setdefault((label, form), []).append(
                            _among_read(method, found, embedder)
                        )
            for form, found in single_events(target, base, selection.seed):
                for label, variant in VARIANTS.items():
                    attribution = variant.attribute(found, embedder)
                    outcomes.add(
                        name, found, attribution, variant=label, form=f"{ONE_TEXT}, {form}"
                    )
            progress.advance(bar)
    variants = summary(outcomes.poisoned(), outcomes.clean(), by=("data", "variant", "form"))
    return {"variants": variants, "baselines": [_baseline(*item) for item in read.items()]}


def _among_read(
    method: Attributor | Variant, found: Event, embedder: CachedEmbedder
) -> tuple[int, int, int, int]:
    """Return planted, found, benign and wronged texts among the first K."""
    attribution = (
        method.attribute(found, embedder)
        if isinstance(method, Variant)
        else method.attribute(found.question, found.wrong, found.retrieve)
    )
    accused = {passage.text for passage in attribution.responsible}
    first = {passage.text for passage in found.ranked[:TOP_K]}
    planted = first & found.poison
    benign = first - found.poison
    return len(planted), len(planted & accused), len(benign), len(benign & accused)


def _baseline(key: tuple[str, str], counts: Sequence[tuple[int, int, int, int]]) -> dict[str, Any]:
    planted, found, benign, wronged = (sum(column) for column in zip(*counts, strict=True))
    return {
        "method": key[0],
        "form": key[1],
        "events": len(counts),
        "recall": rounded(found / planted) if planted else None,
        "fpr": rounded(wronged / benign) if benign else None,
        "events_with_benign_blamed": sum(count[3] > 0 for count in counts),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = half_parser("attribution_ablations", __doc__).parse_args(argv)
    selection = Selection(arguments.data, arguments.limit, arguments.seed, arguments.half)
    errors, out = Console(stderr=True), Console()
    with Progress(console=errors) as progress:
        sections = run(selection, progress)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.attribution_ablations", "--data", "DIR"]
        command += ["--half", str(arguments.half)]
        result = describe_run(command, [], seed=arguments.seed, limit=arguments.limit)
        write(arguments.json, result, sections)
    out.print_json(data=sections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
