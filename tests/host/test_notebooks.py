"""The sources of notebooks run, and their cells are as jupytext reads them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
# The last line that each prints.
LAST = {
    "custom_op": r"refused: .*some would be written by several vCTAs .*",
    "edit_schedule": r".*proven.*",
    "embed_and_search": r"found: a woman plays the violin in the garden",
    "generate": r"tokens: \d+",
    "tensor_parallel": r"ranks: 2, largest difference: .*",
    "trace_timeline": r"timeline: \d+ kB of HTML",
    "train": r"right: \d+% of 64 new points",
}


def sources() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.py") if path.stem != "random_models")


def test_every_source_is_listed() -> None:
    assert [path.stem for path in sources()] == sorted(LAST)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in readme for path in sources())


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_cells(path: Path) -> None:
    """A source begins with a title; text is in comments of Markdown cells alone."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    cells = re.split(r"^# %%", text, flags=re.M)[1:]
    assert len(cells) >= 4
    for cell in cells:
        if cell.startswith(" [markdown]"):
            assert all(line.startswith("#") or not line for line in cell.splitlines()[1:])
        else:
            compile(cell.partition("\n")[2], path.name, "exec")


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.stem)
def test_a_source_runs(path: Path, tmp_path: Path) -> None:
    """As a script, whose assertions hold, and which leaves no file behind."""
    environment = {name: value for name, value in os.environ.items() if name != "MODEL"}
    environment["STEPS"] = "60"  # a small size of the notebook that trains
    result = subprocess.run(
        [sys.executable, path],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(LAST[path.stem], result.stdout.splitlines()[-1])
    assert list(tmp_path.iterdir()) == []
