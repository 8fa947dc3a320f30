"""Options of benchmarks that compile bundles on one machine and measure them on another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from protocol.suite import TORCH_DEVICES

from ark_mlir.bundle import Bundle

NOT_MEASURED = "not measured"


def bundle_parser(description: str | None, *, predicts: bool = False) -> argparse.ArgumentParser:
    """Returns a parser with ``--compile`` or ``--bundles``, ``--target`` and ``--output``.

    With `predicts`, ``--predict`` is a third alternative.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--compile", type=Path, metavar="FOLDER", help="compile the bundles to FOLDER"
    )
    action.add_argument(
        "--bundles", type=Path, metavar="FOLDER", help="measure the bundles in FOLDER"
    )
    if predicts:
        action.add_argument(
            "--predict",
            action="store_true",
            help="compile schedules and simulate them, without GPUs",
        )
    compiling = "--compile and --predict" if predicts else "--compile"
    parser.add_argument("--target", default="cuda:sm_90a", help=f"target of {compiling}")
    parser.add_argument("--output", type=Path, help="write the table to a Markdown file")
    return parser


def torch_device(bundle: Bundle) -> str:
    """Returns PyTorch's name of the devices of a bundle: ``cpu``, or ``cuda`` for GPUs.

    PyTorch for ROCm has the names of CUDA for AMD GPUs, and RCCL under the name ``nccl``.
    """
    return TORCH_DEVICES[bundle.manifest.target.backend]


def add_one_gpu(parser: argparse.ArgumentParser) -> None:
    """Adds the option ``--one-gpu``."""
    parser.add_argument(
        "--one-gpu",
        action="store_true",
        help="all ranks on one GPU, in one launch, each with an equal part of the SMs",
    )


def device_options(options: argparse.Namespace) -> dict[str, Any]:
    """Returns options of ``ark.compile`` for a program of several ranks, by ``--one-gpu``.

    Ranks on processors share them without an option.
    """
    shared = options.one_gpu and not options.target.startswith("cpu")
    return {"devices": [0]} if shared else {}
