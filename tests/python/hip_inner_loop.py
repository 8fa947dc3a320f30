# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a along %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx90a along
# RUN: %PYTHON% %s gfx942 along %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx942 along
# RUN: %PYTHON% %s gfx950 along %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx950 along
# RUN: %PYTHON% %s gfx90a across %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx90a across
# RUN: %PYTHON% %s gfx942 across %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx942 across
# RUN: %PYTHON% %s gfx950 across %t.co
# RUN: llvm-objdump --disassemble --no-show-raw-insn %t.co | %PYTHON% %s gfx950 across
"""The share of issue slots that matrix instructions take in the inner loop of a product of 4096³.

An `mfma` takes as many slots as it has passes of four cycles, since its SIMD accepts no other one
meanwhile. Any other instruction takes one slot, waits and barriers included. The rows of the
weights lie along K, or across K, where threads transpose them. With a path, the script writes the
code object to it; without one, it reads a disassembly and counts.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

# The passes of an instruction of 32 rows.
PASSES = {"gfx90a": 16, "gfx942": 8, "gfx950": 8}
# The least share in percent: what is reached at present. docs/how-to/amd-gpus.md has the same
# shares.
LEAST = {
    ("gfx90a", "along"): 93.1,
    ("gfx942", "along"): 87.0,
    ("gfx950", "along"): 80.5,
    ("gfx90a", "across"): 91.0,
    ("gfx942", "across"): 83.6,
    ("gfx950", "across"): 71.9,
}
INSTRUCTION = re.compile(r"\s+(?P<name>\S+)(?P<operands>.*)// (?P<address>[0-9A-F]+):")


class Instruction(NamedTuple):
    """An instruction; `target` is the address that a branch goes to, `address` without one."""

    address: int
    name: str
    target: int

    @property
    def is_matrix(self) -> bool:
        return self.name.startswith("v_mfma")


def read(line: str) -> Instruction | None:
    """Returns the instruction of a line of llvm-objdump, None if the line has none."""
    found = INSTRUCTION.match(line)
    if found is None:
        return None
    name, address = found["name"], int(found["address"], 16)
    if not name.startswith(("s_branch", "s_cbranch")):
        return Instruction(address, name, address)
    words = int(found["operands"].split()[0])
    return Instruction(address, name, address + 4 + 4 * (words - (words >> 15 << 16)))


def find_inner_loops(code: list[Instruction]) -> list[list[Instruction]]:
    """Returns the loops with matrix instructions that contain no other such loop."""
    loops = [
        [each for each in code if branch.target <= each.address <= branch.address]
        for branch in code
        if branch.target < branch.address
    ]
    loops = [loop for loop in loops if any(each.is_matrix for each in loop)]
    return [
        loop
        for loop in loops
        if not any(
            other is not loop and loop[0] <= other[0] and other[-1] <= loop[-1] for other in loops
        )
    ]


def share(loop: list[Instruction], passes: int) -> float:
    """Returns the percentage of the slots of a loop that matrix instructions take.

    An instruction of 16 rows has half as many passes as one of 32 rows.
    """
    matrix = [each for each in loop if each.is_matrix]
    slots = sum(passes if "32x32" in each.name else passes // 2 for each in matrix)
    return 100 * slots / (slots + len(loop) - len(matrix))


def count(arch: str, rows: str) -> None:
    """Counts the instructions of a disassembly; raises AssertionError if the share is too small."""
    passes, least = PASSES[arch], LEAST[arch, rows]
    code = [found for line in sys.stdin if (found := read(line))]
    loops = find_inner_loops(code)
    assert loops, "no loop has matrix instructions"
    for loop in loops:
        matrix, found = sum(each.is_matrix for each in loop), share(loop, passes)
        print(f"{arch} {rows}: {matrix} mfma, {len(loop) - matrix} others, {found:.1f} %")
        assert found >= least, f"{found:.1f} % of the slots are less than {least} %"


def write(arch: str, rows: str, path: Path) -> None:
    """Writes the code object of the product."""
    import ark_mlir as ark

    with ark.Program("product") as program:
        x = ark.input("x", (4096, 4096), ark.bf16)
        w = ark.parameter("w", (4096, 4096), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=rows == "along"))
    executable = ark.compile(program, target=f"hip:{arch}")
    path.write_bytes(executable.bundle.sections["kernel"])


if len(sys.argv) > 3:
    write(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
else:
    count(sys.argv[1], sys.argv[2])
