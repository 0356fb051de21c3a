"""Does RAGOrigin find the poison, and does it leave the innocent alone?

The section "attribution", alone: the published attacks, one planted text, and wrong answers without
poison. `benchmarks.misgeneration` says what an event is and what is measured.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import numpy as np

from benchmarks.command import Half, Limit, Measured, OwnData, Seed, command, tracked
from benchmarks.datasets import OWN
from benchmarks.misgeneration import MAIN_KINDS, TOP_K, Event, Outcomes, blamed, rounded, selected
from benchmarks.report.table import Row, Sections, Table, as_is, grouped, share, summed
from ragguard.attribution import RAGOrigin
from ragguard.attribution.ragorigin import MAX_SCOPE
from ragguard.attribution.ragorigin.scope import MIN_SCOPE, Ranking, narrow_scope
from ragguard.attribution.ragorigin.support import SupportMeter
from ragguard.proxy import LexicalProxy, Proxy, Scores, default
from ragguard.proxy.base import gain_power

_REACHES = {"ragorigin": MAX_SCOPE, "scope of 15": 15}
_LEAST = {"Eq. 4": 0, f"at least {MIN_SCOPE}": MIN_SCOPE}
_REPORTED = ("data", "method")
_MEASURES = ("dacc", "fpr", "fnr", "fnr_stating", "scope")
_FORMS = {"prepend": "question in front", "plain": "plain"}
_WORST = "{dataset}, {kind}: {dacc:.3f}, {fpr:.3f}, {fnr:.3f} ({events})"
_HEADS = {"DACC": "dacc", "FPR": "fpr", "FNR": "fnr", "FNR, stating": "fnr_stating"}


class Remembered:
    """A slow proxy that is asked once for each text: the events of a question share most of them.

    What a model answers differs in the last digits by the other texts of a batch, and so here.
    """

    def __init__(self, proxy: Proxy) -> None:
        self.gain_power = gain_power(proxy)
        self._proxy = proxy
        self._known: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}

    def score(self, contexts: Sequence[str], query: str, response: str) -> Scores:
        """Return what the proxy scores, or has scored."""
        known = self._known.setdefault((query, response), {})
        if new := [text for text in dict.fromkeys(contexts) if text not in known]:
            found = self._proxy.score(new, query, response)
            pairs = zip(found.semantic_correlation, found.generation_influence, strict=True)
            known |= zip(new, ((float(sc), float(gc)) for sc, gc in pairs), strict=True)
        columns = np.array([known[text] for text in contexts]).reshape(-1, 2).T
        return Scores(columns[0], columns[1])


def run(data: Path | None, limit: int | None, seed: int = 0, half: int = 1) -> Sections:
    """Attribute all events; their answers are short (`benchmarks.worded` has others)."""
    proxy = default()
    asked = proxy if isinstance(proxy, LexicalProxy) else Remembered(proxy)
    origin = RAGOrigin(top_k=TOP_K, proxy=asked)
    poisoned, clean, single = Outcomes(), Outcomes(), Outcomes()
    scopes: dict[tuple[str, str], list[tuple[int, float]]] = {}
    seconds: list[float] = []  # of processor time, which a busy machine distorts less

    def reported(outcomes: Outcomes, event: Event, **stratum: str) -> None:
        for method, reach in _REACHES.items():
            began, within = time.process_time(), replace(event, ranked=event.ranked[:reach])
            found = origin.attribute(event.question, event.wrong, within)
            if event.poison and method == "ragorigin":
                seconds.append(time.process_time() - began)
            outcomes.add(event, found, **stratum, method=method)

    for name, records, base in selected(data, limit, half):
        place = {"dataset": name, "data": "own" if name == OWN else "public"}
        for record in tracked(records, f"attribution: {name}"):
            for kind, form, event in base.poisoned_events(record, seed):
                reported(poisoned, event, **place, kind=kind, form=form)
                for rule, least in _LEAST.items():
                    scopes.setdefault((form, rule), []).append(_scope(event, least, asked))
            for form, event in base.single_events(record, seed):
                found = origin.attribute(event.question, event.wrong, event)
                single.add(event, found, **place, form=form)
            reported(clean, base.event(record), **place)
    of_poisoned, of_clean = poisoned.rows(), clean.rows(blamed)
    return {
        "poisoned": of_poisoned,
        "clean": of_clean,
        "single": single.rows(),
        "scopes": [
            {"form": form, "rule": rule, "events": len(reached), "size": size, "missed": missed}
            for (form, rule), reached in scopes.items()
            for size, missed in [[rounded(mean(of)) for of in zip(*reached, strict=True)]]
        ],
        "summary": list(summary(of_poisoned, of_clean)),
        "ms_per_event": {
            "median": rounded(1e3 * median(seconds)),
            "p95": rounded(1e3 * np.quantile(seconds, 0.95)),
        },
    }


def _scope(event: Event, least: int, proxy: Proxy) -> tuple[int, float]:
    """Return the size of an event's scope, and the share of the poison that it misses."""
    probe = SupportMeter(proxy, event.question, event.wrong)
    ranking = Ranking(event.retrieve, event.question)
    scope = narrow_scope(ranking, probe, top_k=TOP_K, max_scope=MAX_SCOPE, min_scope=least)
    missed = event.poison.difference(passage.text for passage in scope.passages)
    return len(scope.passages), len(missed) / len(event.poison)


def summary(poisoned: Sequence[Row], clean: Sequence[Row]) -> Iterator[Row]:
    """Yield means over datasets, each of which is the mean over its rows of main kinds.

    `clean_blamed` is a mean over datasets, `clean_blamed_pooled` one over all clean events.
    """
    main = [row for row in poisoned if row["kind"] in MAIN_KINDS]
    of_clean = grouped(clean, *_REPORTED)
    for stratum, group in grouped(main, *_REPORTED, "form").items():
        innocent, datasets = of_clean[stratum[:-1]], grouped(group, "dataset").values()
        line = {name: group[0][name] for name in ("data", "form", "method")}
        line["events"] = summed(group)["events"]
        for name in _MEASURES:
            line[name] = rounded(mean(mean(row[name] for row in part) for part in datasets))
        line["clean_blamed"] = rounded(mean(row["blamed"] for row in innocent))
        pooled = sum(row["blamed"] * row["events"] for row in innocent) / summed(innocent)["events"]
        yield {**line, "clean_blamed_pooled": rounded(pooled)}


def tables(sections: Sections) -> Iterator[Table]:
    section = sections["attribution"]
    for part in ("summary", "scopes", "clean"):
        yield as_is(f"Attribution: {part}", section[part])
    yield as_is("Attribution: wrong answers", _wrong_answers(section))
    yield as_is("Attribution: one planted text", _one_text(section["single"]))
    times = section["ms_per_event"]
    line = {"median": f"{times['median']:.1f} ms", "95th percentile": f"{times['p95']:.1f} ms"}
    yield as_is("Attribution: processor time of an event", [line])


def _wrong_answers(section: Sections) -> Iterator[Row]:
    summaries, poisoned, clean = (
        [row for row in section[part] if row["method"] == "ragorigin"]
        for part in ("summary", "poisoned", "clean")
    )
    main = [row for row in poisoned if row["kind"] in MAIN_KINDS]
    by_place, by_data = grouped(main, "data", "form"), grouped(clean, "data")
    for row in summaries:
        strata, innocent = by_place[row["data"], row["form"]], by_data[row["data"],]
        n = summed(strata)["events"]
        line = {"data": row["data"], "form": _FORMS[row["form"]], "events": n}
        line |= {head: f"{row[name]:.3f}" for head, name in _HEADS.items()}
        worst = min(strata, key=lambda stratum: float(stratum["dacc"]))
        head = "worst stratum: DACC, FPR, FNR (events)"
        line[head] = _WORST.format_map(worst) if len(strata) > 1 else ""
        touched = sum(round(part["blamed"] * part["events"]) for part in innocent)
        yield {**line, "clean events blamed": f"{touched} of {summed(innocent)['events']}"}


def _one_text(rows: Sequence[Row]) -> Iterator[Row]:
    for (data, form), part in grouped(rows, "data", "form").items():
        n, found = summed(part), sum(round(row["recall"] * row["events"]) for row in part)
        line = {"data": data, "form": _FORMS[form], "events": n["events"]}
        line |= {"found": f"{found} ({share(found, n['events'])})", "not found": n["open"]}
        line["of these most responsible"] = n["open_first"]
        line["among the three most"] = n["open_in_three"]
        line |= {name.upper(): f"{mean(row[name] for row in part):.3f}" for name in ("dacc", "fpr")}
        yield line


@command(tables)
def main(data: OwnData = None, limit: Limit = None, seed: Seed = 0, half: Half = 1) -> Measured:
    return {"attribution": run(data, limit, seed, half)}, ()
