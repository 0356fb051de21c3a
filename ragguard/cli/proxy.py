"""`ragguard proxy`: export, check and describe the model that scores passages."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import typer

from ragguard.cli import options
from ragguard.cli.options import flag, option
from ragguard.cli.output import show_facts, write_json
from ragguard.embedding.onnx import load_runtime
from ragguard.errors import InvalidInputError
from ragguard.text import printable

_DAY_S = 86_400.0

proxy = typer.Typer(
    name="proxy",
    no_args_is_help=True,
    help="Export, check or describe the small language model that scores passages.",
)

_Precision = Literal["fp32", "fp16", "fp16-weights"]
_PRECISION = option(
    "fp16 is for GPUs; fp16-weights takes half the space of fp32.", default="fp16-weights"
)
_LENGTH = option("Tokens a prompt may have.", min=16, default=1024)


@proxy.command("export")
def export(
    model: str = typer.Argument(
        help="A causal language model: a folder as transformers saves it, a .gguf file, "
        "package:NAME for that of an installed package, or a name of the Hugging Face hub."
    ),
    output: Path = options.output("A new folder for the proxy.", ...),
    precision: _Precision = _PRECISION,
    max_length: int = _LENGTH,
    generator: bool = flag("--generator", "Write a second graph, which answers prompts."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Export a language model as an ONNX graph that scores, and with --generator one that answers.

    The export is compared with the original, and nothing is written (exit code 3) if it scores
    differently. Needs the extras `export` and `onnx`, and `gguf` for a GGUF file. Nothing is
    downloaded but a model of the hub that you name, and not that with HF_HUB_OFFLINE=1. Stages and
    their times go to stderr.
    """
    how = {"precision": precision, "max_length": max_length, "generator": generator}
    _export(model, output, f"RAGGUARD_PROXY={output}", as_json=as_json, **how)


@proxy.command("get")
def get(
    name: str = typer.Argument(help="A model that ragguard knows by name: smollm2."),
    precision: _Precision = _PRECISION,
    max_length: int = _LENGTH,
    as_json: bool = options.AS_JSON,
) -> None:
    """Export a model that is known by name into your cache folder, to score and to answer.

    From then on attribution scores with it by default, beside the lexical proxy.

    Installs and downloads nothing: where the package that holds the model is missing, the command
    that installs it is shown (exit code 2).
    """
    from ragguard.proxy.manifest import MODELS, cache_folder

    if name not in MODELS:
        raise InvalidInputError(f"{name} is no known model; there is {', '.join(MODELS)}")
    folder = cache_folder(name)
    for left in folder.parent.glob(f".{name}-*"):  # half an export of one that was killed
        if time.time() - left.lstat().st_mtime > _DAY_S:
            shutil.rmtree(left, ignore_errors=True)
    if (folder / "manifest.json").is_file():
        raise InvalidInputError(f"{folder} holds an export already; remove it to export it again")
    use = f'Guard(proxy="{name}"); the default mixes it in, unless RAGGUARD_PROXY=lexical'
    how = {"precision": precision, "max_length": max_length, "generator": True}
    _export(MODELS[name], folder, use, as_json=as_json, **how)


def _export(model: str, output: Path, use: str, *, as_json: bool, **how: Any) -> None:
    from ragguard.export import export_proxy

    began = time.monotonic()

    def tell(stage: str) -> None:
        typer.echo(f"{time.monotonic() - began:5.0f} s  {printable(stage)}", err=True)

    manifest = export_proxy(model, output, on_stage=tell, **how)
    tell("done")
    if as_json:
        write_json({"folder": str(output), **asdict(manifest)})
    else:
        typer.echo(
            f"exported {manifest.source}, in {manifest.precision} to {output} "
            f"({_parity(manifest.parity)}); use it with: {use}"
        )


@proxy.command("verify")
def verify(
    folder: Path = typer.Argument(help="Folder of an exported proxy."),
    model: str | None = option(
        "The original, as for export: compare the scores with its own, too."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Check that a proxy's files are those that were exported, and that it scores.

    With --model also that it scores as the original does, within the gate of its precision; that
    needs the extra `export`. Exits with 3 if not.
    """
    from ragguard.export.verify import verify_proxy
    from ragguard.proxy.manifest import Manifest

    parity = verify_proxy(folder, model=model)
    measured = None if parity is None else asdict(parity)
    if as_json:
        files = Manifest.read(folder).files
        write_json({"folder": str(folder), "files": files, "parity": measured})
    else:
        compared = f", it scores as the original ({_parity(measured)})" if measured else ""
        typer.echo(f"{folder}: the files are those that were exported, the graph runs{compared}")


@proxy.command("info")
def info(
    folder: Path | None = typer.Argument(
        None, help="Folder of an exported proxy; the one in use if left out."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Show a proxy's manifest, size and providers, and which proxy is used by default.

    The default is what RAGGUARD_PROXY names, else the lexical proxy, which needs no model, mixed
    with your export of one where `proxy get` made it.
    """
    from ragguard.proxy import VARIABLE, default_folder
    from ragguard.proxy.manifest import Manifest

    used = default_folder()
    kind = "OnnxProxy" if os.environ.get(VARIABLE) else "MixedProxy"
    shown = folder or used
    manifest, size = None, 0
    if shown is not None:
        manifest = Manifest.read(shown)
        size = sum((shown / name).stat().st_size for name in manifest.files)
    providers: list[str] = []
    with suppress(ImportError):
        providers = list(load_runtime().get_available_providers())
    facts: dict[str, Any] = {
        "default": "LexicalProxy" if used is None else kind,
        "default_folder": None if used is None else str(used),
        "providers": providers,
        "folder": None if shown is None else str(shown),
        "bytes": None if manifest is None else size,
        "manifest": None if manifest is None else asdict(manifest),
    }
    if as_json:
        write_json(facts)
        return
    show_facts(
        ("default", f"{facts['default']}{'' if used is None else f' on {used}'}"),
        ("providers", ", ".join(facts["providers"]) or "none: onnxruntime is missing"),
    )
    if manifest is not None:
        versions = ", ".join(f"{name} {value}" for name, value in sorted(manifest.versions.items()))
        show_facts(
            ("folder", shown),
            ("model", f"{manifest.architecture}, {manifest.vocabulary_size} tokens"),
            ("weights", f"{manifest.precision}, from {manifest.source}"),
            ("length", f"{manifest.max_length} tokens"),
            ("size", f"{size / 1e6:.1f} MB"),
            ("parity", _parity(manifest.parity)),
            ("made with", versions),
        )


def _parity(parity: Any) -> str:
    return ", ".join(
        f"{name} {'not compared' if value is None else f'{value:.3g}'}"
        for name, value in parity.items()
    )
