"""`ragguard proxy`: export, check and describe the model that scores passages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ragguard.cli.options import JsonOption, output_option
from ragguard.cli.output import show_facts, write_json

__all__ = ["proxy"]

proxy = typer.Typer(
    no_args_is_help=True,
    help="Export, check or describe the small language model that scores passages.",
)


@proxy.command("export")
def export(
    model: Annotated[
        Path, typer.Argument(help="Folder of a causal language model, as transformers saves it.")
    ],
    output: Annotated[Path, output_option("A new folder for the proxy.")],
    precision: Annotated[
        Literal["fp32", "fp16", "fp16-weights", "int8"],
        typer.Option(help="fp16 is for GPUs; int8 is the fastest on a CPU."),
    ] = "int8",
    max_length: Annotated[int, typer.Option(min=16, help="Tokens a prompt may have.")] = 1024,
    as_json: JsonOption = False,
) -> None:
    """Export a language model as an ONNX graph that scores and cannot generate.

    The export is compared with the original, and nothing is written (exit code 3) if it scores
    differently. Needs the extras `export` and `onnx`; nothing is downloaded.
    """
    from ragguard.errors import InvalidInputError
    from ragguard.export import export_proxy

    if not model.is_dir():
        raise InvalidInputError(f"{model} is not a folder; pass one with config.json and weights")
    manifest = export_proxy(str(model), output, precision=precision, max_length=max_length)
    if as_json:
        write_json({"folder": str(output), **asdict(manifest)})
    else:
        typer.echo(
            f"exported {manifest.architecture} in {manifest.precision} "
            f"({_parity(manifest.parity)}); use it with: RAGGUARD_PROXY={output}"
        )


@proxy.command("verify")
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of an exported proxy.")],
    model: Annotated[
        Path | None,
        typer.Option(help="The original's folder: compare the scores with its own, too."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a proxy's files are those that were exported, and that it scores.

    With --model also that it scores as the original does, within the gate of its precision; that
    needs the extra `export`. Exits with 3 if not.
    """
    from ragguard.errors import InvalidInputError
    from ragguard.export.verify import verify_proxy
    from ragguard.proxy.manifest import Manifest

    if model is not None and not model.is_dir():
        raise InvalidInputError(f"{model} is not a folder; pass one with config.json and weights")
    parity = verify_proxy(folder, model=None if model is None else str(model))
    measured = None if parity is None else asdict(parity)
    if as_json:
        write_json(
            {"folder": str(folder), "files": Manifest.read(folder).files, "parity": measured}
        )
    else:
        compared = f", it scores as the original ({_parity(measured)})" if measured else ""
        typer.echo(f"{folder}: the files are those that were exported, the graph runs{compared}")


@proxy.command("info")
def info(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of an exported proxy; the one in use if left out.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a proxy's manifest, size and providers, and which proxy is used by default.

    The default is the folder that RAGGUARD_PROXY names, else the lexical proxy, which needs no
    model.
    """
    from ragguard.proxy import default_folder
    from ragguard.proxy.manifest import Manifest

    used = default_folder()
    shown = folder or used
    manifest = None if shown is None else Manifest.read(shown)
    files = () if shown is None or manifest is None else [shown / name for name in manifest.files]
    size = sum(file.stat().st_size for file in files)
    facts: dict[str, Any] = {
        "default": "LexicalProxy" if used is None else "OnnxProxy",
        "default_folder": None if used is None else str(used),
        "providers": _providers(),
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
            ("precision", f"{manifest.precision}, quantization {manifest.quantization}"),
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


def _providers() -> list[str]:
    try:
        import onnxruntime
    except ImportError:
        return []
    return list(onnxruntime.get_available_providers())
