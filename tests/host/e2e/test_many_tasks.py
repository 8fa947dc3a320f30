"""Tiling thousands of tasks with a common operand takes time that grows linearly."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_OPT = _ROOT / "build/bin/ark-opt"
_TASKS = 6000
# If each pair of these tasks were examined, tiling would take more than a minute.
_SECONDS = 30

pytestmark = pytest.mark.skipif(
    not (_ROOT / "build").is_dir(), reason="needs a build of the compiler, and this is a wheel"
)


def test_a_chain_of_products_with_one_parameter(tmp_path: Path) -> None:
    tensor = "tensor<16x16xf32>"
    lines = [
        f"    %{i + 1} = ark.matmul %{i if i else 'x'}, %w : ({tensor}, {tensor}) -> {tensor}"
        for i in range(_TASKS)
    ]
    text = (
        f'ark.program @chain(%x: {tensor} {{ark.kind = #ark.kind<input>, ark.name = "x"}},\n'
        f'    %w: {tensor} {{ark.kind = #ark.kind<input>, ark.name = "w"}})\n'
        f'    -> ({tensor} {{ark.name = "y"}}) {{\n'
        + "\n".join(lines)
        + f"\n    ark.return %{_TASKS} : {tensor}\n}}\n"
    )
    source = tmp_path / "chain.mlir"
    source.write_text(text)
    done = subprocess.run(
        [_OPT, source, "--ark-target=cpu:4", "--ark-compile-to=tiling"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ark.task ") == _TASKS
