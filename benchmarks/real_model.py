"""What a small language model takes here: `python -m benchmarks.real_model --model smollm2`.

Seconds for a scope of 15 passages, and tokens read and written, with one thread and with two; by
the clock and by the processor, which says little of other work on the machine. The model is one
that `ragguard proxy get` exported, or a folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import Measured, command
from benchmarks.report.table import Table, as_is
from ragguard.attribution.prompts import answer_prompt
from ragguard.demo.corpus import load_corpus
from ragguard.proxy import OnnxGenerator, OnnxProxy
from ragguard.proxy.manifest import export_folder


def speed(folder: Path, threads: int) -> dict[str, Any]:
    """Return seconds a scope of 15 passages takes, and tokens read and written a second."""
    corpus = load_corpus()
    texts = [passage.text for passage in corpus.passages[:15]]
    question = corpus.questions[0]
    proxy = OnnxProxy(folder, threads=threads)
    generator = OnnxGenerator(folder, max_tokens=64, threads=threads)
    read = generator.tokens(answer_prompt(question.text, texts[:5]))
    written = generator.tokens("Tell a long story about an island.")
    rows: dict[str, Callable[[], object]] = {
        "scope_s": lambda: proxy.score(texts, question.text, question.incorrect_answer),
        "read_s": lambda: generator.read(read),
        "written_s": lambda: [generator.read([*written, *read[:at]]) for at in range(64)],
    }
    found: dict[str, Any] = {"threads": threads, "read": len(read), "written": 64}
    for name, work in rows.items():
        work()  # the first call is slower
        generator.read(written[:1])
        began, worked = time.perf_counter(), time.process_time()
        work()
        found[name] = round(time.perf_counter() - began, 3)
        found[f"{name.removesuffix('_s')}_processor_s"] = round(time.process_time() - worked, 3)
    return found


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of the section "speed"."""
    yield as_is("What the model takes", sections["speed"])


@command(tables)
def main(
    model: Annotated[str, typer.Option(help="a model's name, or an exported folder")] = "smollm2",
) -> Measured:
    """Return the section "speed"."""
    return {"speed": [speed(export_folder(model), threads) for threads in (1, 2)]}, ()


if __name__ == "__main__":
    raise SystemExit(main())
