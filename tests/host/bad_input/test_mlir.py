"""Invalid MLIR gives one clear error that names the location, and never a crash.

Each text is given to the Python API and, if a command takes it, to the command line: exit status 1,
one message on stderr, no traceback.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Refused = Callable[..., str]


def program(body: str, argument: str = "tensor<4x8xf32>", result: str = "") -> str:
    """Returns MLIR of a program with one input; its body starts at line 2."""
    return (
        f'ark.program @p(%x: {argument} {{ark.kind = #ark.kind<input>, ark.name = "x"}})'
        f' -> ({result or argument} {{ark.name = "y"}}) {{\n{body}\n}}\n'
    )


_T = "tensor<4x8xf32>"
BAD_MLIR: dict[str, tuple[str, int | None, str]] = {
    # name: (text, line, message)
    "not MLIR": ("hello\nworld", 1, "custom op 'hello' is unknown"),
    "binary": ("\x00\x01\x02\n", 1, "a binary file, neither MLIR as text nor as bytecode"),
    "no end": ("module {\n  ark.program", 2, "expected"),
    "cut in the middle": (program(f"  %0 = ark.neg %x : ({_T}) ->"), 2, "expected"),
    "unknown op": (program(f"  %0 = ark.frobnicate %x : {_T}"), 2, "'ark.frobnicate' is unknown"),
    "unknown dialect": ('module {\n  "foo.bar"() : () -> ()\n}', 2, "unregistered dialect"),
    "op of another level": (
        program(f"  %0 = arith.addf %x, %x : {_T}\n  ark.return %0 : {_T}"),
        2,
        "'arith.addf' is not an op of a tensor program",
    ),
    "shapes that differ": (
        program(f"  %0 = ark.matmul %x, %x : ({_T}, {_T}) -> {_T}\n  ark.return %0 : {_T}"),
        2,
        "contracted extents differ, 8 and 4",
    ),
    "type that differs": (
        program(f"  %0 = ark.neg %x : ({_T}) -> tensor<8x4xf32>\n  ark.return %x : {_T}"),
        2,
        "ark.neg",
    ),
    "dtype that no op has": (
        program("  ark.return %x : tensor<4xf64>", "tensor<4xf64>"),
        1,
        "f64",
    ),
    "extent not known": (
        program("  ark.return %x : tensor<?x8xf32>", "tensor<?x8xf32>"),
        1,
        "static",
    ),
    "extent that is NaN": (program(f"  ark.return %x : {_T}", "tensor<nanx8xf32>"), 1, "expected"),
    "extent below zero": (program(f"  ark.return %x : {_T}", "tensor<-4x8xf32>"), 1, "expected"),
    "extent beyond 64 bits": (
        program("", "tensor<99999999999999999999x8xf32>"),
        1,
        "invalid dimension",
    ),
    "cycle of values": (
        program(
            f"  %0 = ark.neg %1 : ({_T}) -> {_T}\n  %1 = ark.neg %0 : ({_T}) -> {_T}\n"
            f"  ark.return %1 : {_T}"
        ),
        2,
        "does not dominate this use",
    ),
    "argument without a name": (
        f"ark.program @p(%x: {_T}) -> {_T} {{\n  ark.return %x : {_T}\n}}",
        1,
        "argument 0 needs ark.kind and ark.name",
    ),
    "two programs": (
        program(f"  ark.return %x : {_T}") + program(f"  ark.return %x : {_T}").replace("@p", "@q"),
        4,
        "is the second program of its module",
    ),
    "an intrinsic that LLVM lacks": (
        program(f"  ark.return %x : {_T}")
        + 'llvm.func @f() {\n  llvm.call_intrinsic "llvm.zork"() : () -> ()\n  llvm.return\n}\n',
        5,
        'could not find LLVM intrinsic: "llvm.zork"',
    ),
    "no program": ("func.func @f() {\n  return\n}\n", None, "has no ark.program"),
    "nothing": ("module {}\n", 1, "has no ark.program"),
    "a stage that is none": (
        'module attributes {ark.stage = "zork"} {\n' + program(f"  ark.return %x : {_T}") + "}",
        1,
        "'zork' is not a stage",
    ),
}


@pytest.mark.parametrize("name", BAD_MLIR)
def test_bad_mlir(name: str, tmp_path: Path) -> None:
    """The error is raised for text and for a file, and names the file."""
    text, line, message = BAD_MLIR[name]
    with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
        ark.compile(text, target="cpu:1")
    assert line is None or str(caught.value).startswith(f"-:{line}: ")
    (tmp_path / "bad.mlir").write_text(text, encoding="utf-8")
    with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
        ark.compile(tmp_path / "bad.mlir", target="cpu:1")
    where = tmp_path / "bad.mlir"
    assert str(caught.value).startswith(f"{where}:{line}: " if line else f"{where}: ")


@pytest.mark.parametrize("command", ["compile", "check"])
@pytest.mark.parametrize(
    "name", ["no end", "unknown op", "shapes that differ", "cycle of values", "nothing", "binary"]
)
def test_bad_mlir_on_the_command_line(name: str, command: str, refused: Refused) -> None:
    text, line, message = BAD_MLIR[name]
    Path("bad.mlir").write_text(text, encoding="utf-8")
    error = refused(command, "bad.mlir", *(("-o", "o.arkbin") if command == "compile" else ()))
    assert error.startswith(f"ark: error: bad.mlir:{line}: ")
    assert message in error
    assert not Path("o.arkbin").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no.mlir", "no.mlir: there is no such file"),
        (Path("."), "is a folder"),
        ("", "empty string"),
        (" ", "empty string"),
        (None, "cannot compile a NoneType"),
        (b"module {}", "cannot compile a bytes"),
        (np.zeros(3), "cannot compile a ndarray"),
    ],
)
def test_a_module_without_a_program_raises(source: Any, message: str) -> None:
    for use in (ark.compile, ark.compiler.check):
        with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
            use(source)


def test_a_module_of_torch_raises_with_the_remedy() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for source in (torch.nn.Linear(2, 3), torch.zeros(2)):
        with pytest.raises(ark.InvalidUsageError, match=r"of PyTorch; ark\.from_torch"):
            ark.compile(source)


def test_files_that_are_not_programs_raise(refused: Refused) -> None:
    assert "no.mlir: no such file" in refused("compile", "no.mlir", "-o", "o.arkbin")
    assert "no.mlir: no such file" in refused("check", "no.mlir")
    np.save("x.npy", np.zeros(3))
    assert "x.npy:1: " in refused("compile", "x.npy", "-o", "o.arkbin")
    assert "x.npy: " in refused("show", "x.npy")


@pytest.mark.parametrize(
    ("program", "inputs", "message"),
    [
        (None, {}, "cannot interpret a NoneType; expected an ark.Program"),
        (5, {}, "cannot interpret an int"),
        ("no.mlir", {}, "no.mlir: cannot be read"),
        (
            program(f"  ark.return %x : {_T}"),
            None,
            "inputs are a NoneType; expected a dict of arrays",
        ),
        (program(f"  ark.return %x : {_T}"), [1], "inputs are a list"),
    ],
)
def test_programs_that_the_reference_cannot_run_raise(
    program: Any, inputs: Any, message: str
) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.reference.run(program, inputs)
    assert message in str(caught.value)


@pytest.mark.parametrize("use", [ark.compile, ark.compiler.check, ark.reference.evaluate])
def test_a_file_that_does_not_parse_is_named(use: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "broken.mlir"
    path.write_text(program("  ark.zork\n"), encoding="utf-8")
    for given in (path, str(path)):
        with pytest.raises(ark.ArkError, match=r"'ark\.zork' is unknown") as caught:
            use(given, {}) if use is ark.reference.evaluate else use(given)
        assert str(caught.value).startswith(f"{path}:2: ")


# -- sizes beyond all bounds ----------------------------------------------------------------------


def sum_of_rows(rows: int) -> str:
    shape = f"tensor<{rows}x4xf32>"
    return program(
        f"  %0 = ark.reduce_sum %x axes = [0] keepdims = true : ({shape}) -> tensor<1x4xf32>\n"
        "  ark.return %0 : tensor<1x4xf32>",
        shape,
        "tensor<1x4xf32>",
    )


def test_a_region_of_many_rows(compile_with_little_memory: Refused) -> None:
    assert compile_with_little_memory(sum_of_rows(2**28)) == ""


def test_bytes_that_overflow(compile_with_little_memory: Refused) -> None:
    shape = f"tensor<{2**63 - 1}xf32>"
    text = program(
        f"  %0 = ark.reduce_sum %x axes = [0] keepdims = true : ({shape}) -> tensor<1xf32>\n"
        "  ark.return %0 : tensor<1xf32>",
        shape,
        "tensor<1xf32>",
    )
    assert "huge.mlir:" in compile_with_little_memory(text)
