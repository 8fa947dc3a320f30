"""Text and files that crash MLIR's parser or verifiers give an error and do not end the process."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.cli.main import main
from ark_mlir.mlir import parsing

_DEPTH = 50_000
# Texts that crash the parser or a verifier of MLIR 22.1.
_CRASHES = {
    "an array of indices": "module attributes {a = array<index: 0>} {}",
    "a result with a huge number": (
        "func.func @f() {\n  %0 = arith.constant 1 : i32\n"
        "  %1 = arith.addi %0#2147483648, %0 : i32\n  return\n}"
    ),
    "a reduction without arguments": (
        "func.func @f(%a: index, %x: f32) {\n"
        '  %0 = "scf.parallel"(%a, %a, %a, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}>\n'
        '  ({\n  ^bb0(%i: index):\n    "scf.reduce"(%x) ({\n'
        '      "scf.reduce.return"(%x) : (f32) -> ()\n    }) : (f32) -> ()\n'
        "  }) : (index, index, index, f32) -> f32\n  return\n}"
    ),
    "nested modules": "module {" * 5000 + "}" * 5000,
    "a deep attribute": f"module attributes {{a = {'[' * _DEPTH}{']' * _DEPTH}}} {{}}",
    "a deep expression": (
        f"module attributes {{a = affine_map<(d0) -> ({'(' * _DEPTH}d0{')' * _DEPTH})>}} {{}}"
    ),
}


@pytest.mark.parametrize("name", _CRASHES)
@pytest.mark.parametrize("take", [ark.compile, ark.reference.run], ids=["compile", "reference"])
def test_text_that_crashes_the_parser(
    name: str, take: Callable[..., object], tmp_path: Path
) -> None:
    text = _CRASHES[name] + "\n"
    inputs = ({},) if take is ark.reference.run else ()
    ends = r"MLIR cannot read it: its parser or verifier (ended with SIG\w+|failed: out of memory)$"
    with pytest.raises(ark.ArkError, match=ends):
        take(text, *inputs)
    file = tmp_path / "hostile.mlir"
    file.write_text(text)
    with pytest.raises(ark.ArkError, match="MLIR cannot read it") as caught:
        take(file, *inputs)
    assert caught.value.location == str(file)


# Damaged bytecode on which MLIR's reader never ends.
_ENDLESS = Path(__file__).parents[2] / "pipelines" / "Inputs" / "endless.mlirbc"
# Every command that reads MLIR; the others read bundles or folders.
_COMMANDS = {
    "check": ("--target", "cpu:1"),
    "compile": ("--target", "cpu:1", "-o", "out.arkbin"),
    "schedule": ("--target", "cpu:1", "-o", "out.mlir"),
    "show": ("--target", "cpu:1", "-o", "out.html"),
    "simulate": ("--target", "cpu:1", "--topology", "h200"),
    "tune": ("--target", "cpu:1", "--record", "out.json"),
}


@pytest.mark.parametrize("command", _COMMANDS)
def test_commands_report_a_crash_of_the_parser(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hostile.mlir"
    file.write_text(_CRASHES["an array of indices"] + "\n")
    assert main([command, str(file), *_COMMANDS[command]]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.search(
        rf"{re.escape(str(file))}: MLIR cannot read it: its parser or verifier ended with SIG\w+$",
        lines[0],
    )


def test_a_parser_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_FLAGS", (*parsing._FLAGS, "--ark-read-seconds=1"))
    file = tmp_path / "endless.mlir"
    file.write_bytes(_ENDLESS.read_bytes())
    with pytest.raises(ark.CompileError, match="exceeded its limit of processor time") as caught:
        ark.compile(file, target="cpu:1")
    assert caught.value.location == str(file)


def _bytecode(text: str) -> bytes:
    with ir.Context():
        module = ir.Module.parse(text)
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def test_damaged_bytecode(tmp_path: Path) -> None:
    """Alters some bytes of a file in turn; MLIR's reader crashes on such files."""
    text = (
        "module {\n  func.func @f(%x: memref<4xf32>, %i: index) {\n"
        "    %c0 = arith.constant 0 : index\n    scf.for %j = %c0 to %i step %i {\n"
        "      %0 = memref.load %x[%j] : memref<4xf32>\n"
        "      memref.store %0, %x[%c0] : memref<4xf32>\n    }\n    return\n  }\n}"
    )
    data = _bytecode(text)
    file = tmp_path / "damaged.mlir"
    for offset in range(8, len(data), len(data) // 12):
        file.write_bytes(data[:offset] + bytes([data[offset] ^ 0x80]) + data[offset + 1 :])
        with pytest.raises(ark.ArkError):
            ark.compile(file, target="cpu:1")


_KERNEL = """
ark.kernel @f {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64,
    bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<0> : tensor<12345x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>) {
  return
}
"""


def _zigzag_varint(value: int) -> bytes:
    """Returns a signed number as MLIR's bytecode encodes it."""
    unsigned = value * 2 if value >= 0 else -value * 2 - 1
    size = next(size for size in range(1, 9) if unsigned < 1 << (7 * size))
    return (unsigned << size | 1 << (size - 1)).to_bytes(size, "little")


def _check_rows(file: Path, kernel: str, rows: int, message: str) -> None:
    """Checks that a kernel is refused after bytecode with 12345 rows in a table declares `rows`."""
    data, declared = _bytecode(kernel), _zigzag_varint(12345)
    assert data.count(declared) == 1
    file.write_bytes(data)
    with pytest.raises(ark.CompileError) as caught:
        ark.compile(file, target="cpu:1")
    assert "kernel_c1" not in str(caught.value)
    file.write_bytes(data.replace(declared, _zigzag_varint(rows)))
    with pytest.raises(ark.CompileError, match=re.escape(message)):
        ark.compile(file, target="cpu:1")


def test_a_table_with_a_negative_number_of_rows(tmp_path: Path) -> None:
    """The parser of text refuses such a type; only damaged bytecode declares one."""
    message = "table 'operands' has -12345 entries; a table has 0 to 33554432 (kernel_c1)"
    _check_rows(tmp_path / "damaged.mlir", _KERNEL, -12345, message)


def test_a_table_with_less_data_than_it_declares(tmp_path: Path) -> None:
    """MLIR's bytecode reader does not compare the data of an attribute with its type."""
    table = "dense<[" + ", ".join(["[0, 1]"] * 12345) + "]>"
    message = "table 'operands' declares 16000 entries, and has 197520 bytes (kernel_c1)"
    _check_rows(tmp_path / "damaged.mlir", _KERNEL.replace("dense<0>", table), 16000, message)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_read_permission_raises(tmp_path: Path) -> None:
    file = tmp_path / "closed.mlir"
    file.write_text("module {}")
    file.chmod(0)
    with pytest.raises(ark.CompileError, match="cannot be read: Permission denied"):
        ark.compile(file)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the system has no /proc")
def test_a_file_that_cannot_be_read_raises() -> None:
    """Reading the first page of memory fails for every user, root included."""
    with pytest.raises(ark.CompileError, match="/proc/self/mem: cannot be read: Input/output err"):
        ark.compile("/proc/self/mem")


def test_messages_are_those_of_the_parser(tmp_path: Path) -> None:
    """The error names the line and the file, and includes the notes of MLIR's reader."""
    text = (
        'ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {\n'
        "  %0 = ark.concat %x, %x axis = 1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>\n"
        "  ark.return\n}\n"
    )
    with pytest.raises(ark.CompileError) as caught:
        ark.compile(text)
    assert caught.value.location == "-:2"
    assert "axis 1 is not a dimension of shape [4] (concat_c2)" in str(caught.value)
    file = tmp_path / "bad.mlir"
    file.write_text("func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}\n")
    with pytest.raises(ark.CompileError, match="redefinition of symbol named 'f'") as caught:
        ark.compile(file)
    assert caught.value.location == f"{file}:4"
    assert list(caught.value.notes) == [f"{file}:1: see existing symbol definition here"]
