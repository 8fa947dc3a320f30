"""Programs of thousands of ops compile in time that grows linearly."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_OPT = _ROOT / "build/bin/ark-opt"

pytestmark = pytest.mark.skipif(
    not (_ROOT / "build").is_dir(), reason="needs a build of the compiler, and this is a wheel"
)


def compile_chain(
    op: str, count: int, tensor: str, stage: str, seconds: int, folder: Path, kind: str = "input"
) -> str:
    """Returns the IR after a stage of `count` ops, of which each takes the result before and `w`.
    The argument `w` has this kind.

    Fails if the compiler needs more than `seconds` of processor time.
    """
    operation = f"ark.{op} %{{}}, %w : ({tensor}, {tensor}) -> {tensor}"
    lines = [f"    %{i + 1} = {operation.format(i or 'x')}" for i in range(count)]
    text = (
        f'ark.program @chain(%x: {tensor} {{ark.kind = #ark.kind<input>, ark.name = "x"}},\n'
        f'    %w: {tensor} {{ark.kind = #ark.kind<{kind}>, ark.name = "w"}})\n'
        f'    -> ({tensor} {{ark.name = "y"}}) {{\n'
        + "\n".join(lines)
        + f"\n    ark.return %{count} : {tensor}\n}}\n"
    )
    return compile_text(text, stage, seconds, folder)


def compile_text(text: str, stage: str, seconds: int, folder: Path) -> str:
    """Returns the IR after a stage; fails if the compiler needs more seconds of processor time."""
    source = folder / "program.mlir"
    source.write_text(text)
    # The limit ends the compiler by a signal.
    limit = ["prlimit", f"--cpu={seconds}"]
    done = subprocess.run(
        [*limit, _OPT, source, "--ark-target=cpu:4", f"--ark-compile-to={stage}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_chain_of_products_with_one_parameter(tmp_path: Path) -> None:
    """If tiling examined each pair of these tasks, it would take more than a minute."""
    count = 6000
    text = compile_chain("matmul", count, "tensor<16x16xf32>", "tiling", 30, tmp_path)
    assert text.count("ark.task ") == count


@pytest.mark.parametrize("kind", ["input", "state"])
def test_an_argument_with_many_readers(kind: str, tmp_path: Path) -> None:
    """All stages take 3 s. When the search for updates visited all readers of an argument for each
    of them, it took more than 30 s for an input and 114 s for a state."""
    count = 20_000
    text = compile_chain("add", count, "tensor<4xf32>", "kernel", 15, tmp_path, kind)
    assert "ark.add" not in text
    assert "arith.addf" in text


def test_a_concatenation_of_many_tensors(tmp_path: Path) -> None:
    """All stages take 1 s. When fusion made one task of the parts of a concatenation, 256 tensors
    took 4 s, and 1,000 tensors more than a minute."""
    count = 1000
    tensor = "tensor<4xf32>"
    arguments = ", ".join(
        f'%x{i}: {tensor} {{ark.kind = #ark.kind<input>, ark.name = "x{i}"}}' for i in range(count)
    )
    operands = ", ".join(f"%x{i}" for i in range(count))
    joined = f"tensor<{4 * count}xf32>"
    text = compile_text(
        f'ark.program @concat({arguments}) -> ({joined} {{ark.name = "y"}}) {{\n'
        f"  %y = ark.concat {operands} axis = 0 : ({', '.join([tensor] * count)}) -> {joined}\n"
        f"  ark.return %y : {joined}\n}}\n",
        "kernel", 15, tmp_path,
    )  # fmt: skip
    assert "ark.concat" not in text
