"""Options of benchmarks that compile bundles on one machine and measure them on another."""

from __future__ import annotations

import argparse
from pathlib import Path


def bundle_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with ``--compile FOLDER`` or ``--bundles FOLDER``, ``--target`` and ``--output``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compile", type=Path, metavar="FOLDER", help="make the bundles there")
    what.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure those that lie there")
    parser.add_argument("--target", default="cuda:sm_90a", help="of --compile")
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    return parser
