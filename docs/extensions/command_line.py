"""Directives that describe `ark` and `ark-opt` by the help texts of these programs."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ark_mlir.cli.main import make_parser
from ark_mlir.compiler.stages import stages

ROOT = Path(__file__).parents[2]


class _Text(SphinxDirective):
    """A directive without arguments that generates Markdown."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(self.text(), allow_section_headings=True)

    def text(self) -> str:
        """Returns the Markdown."""
        raise NotImplementedError


# -- ark -----------------------------------------------------------------------------------------


class Commands(_Text):
    """Every command of `ark`, from its argparse parsers."""

    def text(self) -> str:
        with columns(100):
            return "\n".join(describe_command(*command) for command in commands(make_parser()))


@contextmanager
def columns(count: int) -> Iterator[None]:
    """Sets the width to which argparse breaks its lines."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yields the names and parsers of commands."""
    # argparse has no public way to its parts.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def describe_command(name: str, parser: argparse.ArgumentParser) -> str:
    usage = parser.format_usage().removeprefix("usage: ").rstrip()
    rows = [
        f"| {spell(action)} | {cell(action.help)} |"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction) and action.help != argparse.SUPPRESS
    ]
    table = ["| argument | meaning |", "|---|---|", *rows] if rows else []
    example = (parser.epilog or "").removeprefix("example: ")
    parts = [
        f"## ark {name}", parser.description or "", f"```text\n{usage}\n```", "\n".join(table),
        "Example:" if example else "", "```text\n" + example.replace("; ", "\n") + "\n```",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def spell(action: argparse.Action) -> str:
    """The names of an argument, with the word for its value."""
    metavar = action.metavar if isinstance(action.metavar, str) else None
    if metavar is None and action.nargs != 0:
        metavar = "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    if not action.option_strings:
        return code(metavar or action.dest)
    names = [f"{option} {metavar}" if metavar else option for option in action.option_strings]
    return ", ".join(code(name) for name in names)


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def cell(text: str | None) -> str:
    """Returns text as a cell of a table, with the characters of Markdown escaped."""
    return re.sub(r"([|<>*_`\[\]])", r"\\\1", text or "")


# -- ark-opt -------------------------------------------------------------------------------------


class OptOptions(_Text):
    """The options of `ark-opt` other than single passes, from its `--help`."""

    def text(self) -> str:
        tool = Path(sys.executable).with_name("ark-opt")
        shown = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
        # Passes and their options are indented further.
        found = re.findall(r"^  (--ark-\S+) +- (.+)$", shown, re.M)
        assert found, "ark-opt --help lists no option of ark"
        rows = [f"| {code(option)} | {cell(meaning.strip())} |" for option, meaning in found]
        return "\n".join(["| option | meaning |", "|---|---|", *rows])


class Passes(_Text):
    """The passes of every stage with their summaries, from the generated documents."""

    def text(self) -> str:
        return "\n".join(describe_stage(stage) for stage in (*stages(), "pipelines"))


def describe_stage(stage: str) -> str:
    """Returns a section with the passes of a stage, or of the libraries of a stage."""
    pages = sorted((ROOT / "passes" / stage).rglob("Passes.md"))
    rows = [row for page in pages for row in describe_passes(page)]
    title = "Around the stages" if stage == "pipelines" else f"Stage {stage}"
    return "\n".join([f"### {title}\n", "| pass | effect |", "|---|---|", *rows, ""])


def describe_passes(page: Path) -> list[str]:
    """Returns a row of a table for each pass that a generated page documents."""
    path = page.relative_to(ROOT).as_posix()
    found = re.findall(r"^### `-(\S+)`\n\n_(.+)_$", page.read_text(encoding="utf-8"), re.M)
    return [f"| [`--{name}`](/{path}#{name}) | {cell(summary)} |" for name, summary in found]


def setup(app: Sphinx) -> dict[str, Any]:
    """Adds the directives."""
    app.add_directive("ark-commands", Commands)
    app.add_directive("ark-opt-options", OptOptions)
    app.add_directive("ark-passes", Passes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
