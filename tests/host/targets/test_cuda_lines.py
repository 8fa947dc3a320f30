"""Debug information of GPU code names the op and the Python line of each instruction."""

from __future__ import annotations

import inspect
import struct
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.targets.cubin import empty_section
from ark_mlir.targets.cuda_lines import SourceLine, name_lines

KERNEL = SourceLine("ark_kernel", "Kernel.mlir", 1, 2)
OP = SourceLine('the "first" product', "model.py", 7, 5)
PTX = """\
.visible .entry ark_kernel(
\t.file\t1 "ark-lines"
begin:
\t.loc\t1 2 0
\tadd;
\t.loc\t1 1 0
\tret;
.func  (.param .b32 result) ark_wait(
\t.loc\t1 0 0
\tret;
"""


def make_program() -> tuple[ark.Program, int]:
    """Returns a program, and the line of its product."""
    with ark.Program("named") as program:
        x = ark.input("x", (5, 64), ark.bf16)
        w = ark.parameter("w", (96, 64), ark.bf16)
        frame = inspect.currentframe()
        assert frame is not None
        h = ark.matmul(x, w, transpose_other=True, name="an_op_by_name")
        line = frame.f_lineno - 1
        ark.output("y", ark.argmax(h, axis=-1, name="another_op"))
    return program, line


def sections(image: bytes) -> dict[str, bytes]:
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names_at = struct.unpack_from("<HHH", image, 58)
    rows = [struct.unpack_from("<I20xQQ", image, table + size * k) for k in range(count)]
    strings = rows[names_at][1]

    def name(offset: int) -> str:
        begin = strings + offset
        return image[begin : image.index(b"\0", begin)].decode()

    return {name(start): image[at : at + length] for start, at, length in rows}


def kernel(line_info: bool) -> bytes:
    exe = ark.compile(make_program()[0], target="cuda:sm_90a", cache=False, line_info=line_info)
    return bytes(exe.bundle.sections["kernel"])


def test_a_location_without_a_file() -> None:
    """The debug information has no empty file names, on which ptxas 13.0 crashes."""
    found = name_lines(PTX, [KERNEL, SourceLine("op", "", 0, 0)])
    assert '\t.file\t4 "unknown", 0, 0' in found
    assert '""' not in found
    assert "\t.loc\t4 0 0, function_name" in found


def test_a_kernel_names_its_ops_and_their_file() -> None:
    found = sections(kernel(line_info=True))
    for name in (b"an_op_by_name", b"another_op", b"ark_wait"):
        assert name + b"\0" in found[".debug_str"]
    assert Path(__file__).name.encode() in found[".debug_line"]


def test_its_lines_are_those_of_the_program(tmp_path: Path) -> None:
    program, line = make_program()
    exe = ark.compile(program, target="cuda:sm_90a", cache=False)
    path = tmp_path / "kernel.cubin"
    path.write_bytes(bytes(exe.bundle.sections["kernel"]))
    command = ["readelf", "--debug-dump=rawline", str(path)]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert Path(__file__).name in dump
    assert f" to {line}\n" in dump


def test_without_lines_a_kernel_has_as_much_code() -> None:
    plain, lined = sections(kernel(line_info=False)), sections(kernel(line_info=True))
    assert ".debug_line" not in plain
    code = [name for name in plain if name.startswith(".text")]
    assert code
    # ptxas orders some instructions differently at the start of a line.
    for name in code:
        assert abs(len(plain[name]) - len(lined[name])) < 0.02 * len(plain[name])


def test_the_ptx_is_left_out_of_the_cubin() -> None:
    lined = kernel(line_info=True)
    assert sections(lined)[".nv_debug_ptx_txt"] == b""
    assert len(lined) < 1.5 * len(kernel(line_info=False))


def test_an_option_of_the_wrong_type() -> None:
    with pytest.raises(ark.InvalidUsageError, match="option line_info='no'"):
        ark.CompileOptions(line_info="no")  # pyright: ignore[reportArgumentType]


def test_files_of_any_name(tmp_path: Path) -> None:
    """ptxas accepts only ASCII."""
    odd = SourceLine("op", 'größe "☃"\\\n.py', 7, 5)
    text = name_lines(PTX, [KERNEL, odd])
    assert text.isascii()
    assert '\t.file\t4 "gr\\\\xf6\\\\xdfe \\"\\\\u2603\\"\\\\\\\\n.py", 0, 0' in text.splitlines()
    path = tmp_path / "größe ☃.mlir"
    path.write_text(make_program()[0].mlir, encoding="utf-8")
    exe = ark.compile(path, target="cuda:sm_90a", cache=False)
    assert exe.report().tasks > 0


def test_numbers_become_names_and_lines() -> None:
    lines = name_lines(PTX, [KERNEL, OP]).splitlines()
    assert lines[:10] == [
        ".visible .entry ark_kernel(",
        "begin:",
        "\t.loc\t1 1 0",
        "\t.loc\t4 7 5, function_name $L__ark_name2, inlined_at 1 1 0",
        "\tadd;",
        "\t.loc\t1 1 0",
        "\tret;",
        ".func  (.param .b32 result) ark_wait(",
        "\t.loc\t2 1 0",  # belongs to no op
        "\tret;",
    ]
    names = ["ark_kernel", "ark_wait", "Kernel.mlir", "model.py"]
    assert lines[10:14] == [f'\t.file\t{1 + n} "{name}", 0, 0' for n, name in enumerate(names)]
    at = lines.index("$L__ark_name2:")
    text = bytes(int(line.split()[1]) for line in lines[at + 1 :] if line.startswith(".b8"))
    assert text == OP.name.encode() + b"\0"


def test_sections_behind_an_emptied_one_keep_their_content() -> None:
    image = kernel(line_info=True)
    before = sections(image)
    after = sections(empty_section(image, b".nv_debug_line_sass"))
    cut = len(before[".nv_debug_line_sass"]) // 128 * 128
    assert cut > 0
    assert after.pop(".nv_debug_line_sass") == b""
    del before[".nv_debug_line_sass"]
    # Sections without bytes in the file may have any offset.
    assert {n: s for n, s in after.items() if ".shared" not in n} == {
        n: s for n, s in before.items() if ".shared" not in n
    }


def test_a_missing_section_raises() -> None:
    image = kernel(line_info=False)
    assert empty_section(image, b".nowhere") == image
