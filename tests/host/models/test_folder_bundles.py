"""Bundles that `ark compile` makes of a model folder need only the folder's files at run time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.cli.main import main

# Simulates a machine that only runs bundles: it has the Python files of ark, numpy and ml_dtypes.
BARE = """
import sys

class Bare:
    known = {*sys.stdlib_module_names, "ark_mlir", "numpy", "ml_dtypes"}
    compiled = ("ark_mlir._mlir_libs", "ark_mlir.ir", "ark_mlir.passmanager")

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.known or name.startswith(self.compiled):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bare())
"""
RUN = """
from ark_mlir.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run_bare(*arguments: object, code: str = RUN) -> str:
    command = [sys.executable, "-c", BARE + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_a_decoder(tiny: Any, tmp_path: Path, kind: str) -> None:
    """Tables of rotary angles are in no weight file, so the program contains them."""
    folder = tiny.write_model(tmp_path / "model", kind)
    options = {"max_length": 24, "chunk": 4}
    settings = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
    out = tmp_path / "m.arkbin"
    assert main(["compile", str(folder), "-o", str(out), "--target", "cpu:2", *settings]) == 0
    inputs = {
        "ids": np.array([[3, 10, 17, 24]], np.int32),
        "ends": np.full(8, -1, np.int32),
    }
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
    run_bare(
        "run", tmp_path / "m.prefill.arkbin", "--params", folder / "model.safetensors",
        *(part for name in inputs for part in ("--input", f"{name}={tmp_path / name}.npy")),
        "--input", "begin=8", "--input", "last=3", "--output", f"logits={tmp_path / 'y.npy'}",
    )  # fmt: skip
    model = ark.models.load(folder, **options)
    expected = model.run("prefill", {**inputs, "begin": 8, "last": 3}, reference=True)["logits"]
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "bert"])
def test_parameters_are_those_of_the_files(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path / "model", kind)
    command = ["compile", str(folder), "-o", str(tmp_path / "m.arkbin"), "--target", "cpu:2"]
    assert main([*command, "--set", "length=8" if kind == "bert" else "max_length=24"]) == 0
    bundles = sorted(tmp_path.glob("*.arkbin"))
    assert len(bundles) == (1 if kind == "bert" else 2)
    for path in bundles:
        names = {buffer.name for buffer in read_bundle(path).manifest.parameters}
        assert names <= set(tiny.weights(kind))


@pytest.mark.parametrize("kind", ["llama", "mixtral"])
def test_tokens_from_bundles_alone(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path / "model", kind)
    out = tmp_path / "m.arkbin"
    command = ["compile", str(folder), "-o", str(out), "--target", "cpu:2"]
    assert main([*command, "--set", "max_length=24"]) == 0
    printed = run_bare(
        "generate", folder, "--bundle", out, "--prompt-ids", "3,10,17,24", "--max-new-tokens", "4"
    )
    model = ark.models.load(folder, max_length=24).compile("cpu:2")
    expected = model.generate([3, 10, 17, 24], 4)
    assert [int(word) for word in printed.replace(",", " ").split()] == list(expected)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ark.Program('x')", "the compiled part of ark_mlir is not installed"),
        ("ark.ir", "the compiled part of ark_mlir is not installed"),
        ("ark.compile", "the compiled part of ark_mlir is not installed"),
        ("ark.models.load({folder!r})", "the compiled part of ark_mlir is not installed"),
    ],
)
def test_building_without_the_compiler(tiny: Any, tmp_path: Path, code: str, says: str) -> None:
    folder = str(tiny.write_model(tmp_path / "model", "llama"))
    code = code.format(folder=folder)
    script = f"""
import ark_mlir as ark
try:
    {code}
except ImportError as error:
    print(error)
"""
    assert says in run_bare(code=script)


def test_the_command_without_the_compiler(tiny: Any, tmp_path: Path) -> None:
    folder = str(tiny.write_model(tmp_path / "model", "llama"))
    script = f"""
from ark_mlir.cli.main import main
sys.stderr = sys.stdout
assert main(["generate", {folder!r}, "--prompt-ids", "3"]) == 1
"""
    printed = run_bare(code=script)
    assert "the compiler is not installed here" in printed
    assert "internal error" not in printed


RANKS = ("--set", "max_length=24", "--set", "tensor_parallel=2", "--target", "cpu:2")


@pytest.mark.parametrize("kind", ["llama", "mixtral"])
def test_bundles_of_two_ranks(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path / "model", kind)
    out = tmp_path / "m.arkbin"
    assert main(["compile", str(folder), "-o", str(out), *RANKS]) == 0
    manifest = read_bundle(tmp_path / "m.decode.arkbin").manifest
    assert manifest.ranks == 2
    whole = ark.models.load(folder, max_length=24)
    name = "model.layers.0.self_attn.q_proj.weight"
    shape = whole.programs["decode"].parameters[name].shape
    shapes = {b.name: b.shape for b in manifest.parameters}
    assert shapes[f"rank1/{name}"] == (shape[0] // 2, shape[1])
    printed = run_bare(
        "generate", folder, "--bundle", out, "--prompt-ids", "3,10,17,24", "--max-new-tokens", "4"
    )
    expected = whole.compile("cpu:2").generate([3, 10, 17, 24], 4)
    assert [int(word) for word in printed.split(",")] == list(expected)


def test_schedules_of_two_ranks(tiny: Any, tmp_path: Path) -> None:
    """Without the ranks, these commands showed the program of one device."""
    folder = str(tiny.write_model(tmp_path / "model", "llama"))
    text, page = tmp_path / "s.mlir", tmp_path / "s.html"
    for command, out in (("schedule", text), ("show", page)):
        assert main([command, folder, "-o", str(out), "--program", "decode", *RANKS]) == 0
    assert "rank1/" in text.read_text()
    assert "rank 1" in page.read_text()
    assert main(["check", str(text)]) == 0
