"""Options of benchmarks that compile bundles on one machine and measure them on another."""

from __future__ import annotations

import argparse
from pathlib import Path


def bundle_parser(description: str | None) -> argparse.ArgumentParser:
    """Returns a parser with ``--compile`` or ``--bundles``, ``--target`` and ``--output``."""
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
    parser.add_argument("--target", default="cuda:sm_90a", help="target of --compile")
    parser.add_argument("--output", type=Path, help="write the table to a Markdown file")
    return parser
