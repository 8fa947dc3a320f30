"""Removes each wait and each signal of a schedule in turn; the proof fails without any of them.

python examples/edit_schedule.py
"""

from __future__ import annotations

import ark_mlir as ark


def schedule() -> list[str]:
    """Returns the lines of a synchronised program: two matmuls and a softmax on four SMs."""
    with ark.Program("mlp") as program:
        x = ark.input("x", (32, 64), ark.fp32)
        w1 = ark.parameter("w1", (256, 64), ark.fp32)
        w2 = ark.parameter("w2", (64, 256), ark.fp32)
        h = ark.gelu(ark.matmul(x, w1, transpose_other=True, name="up"))
        h = ark.matmul(h, w2, transpose_other=True, name="down")
        ark.output("y", ark.softmax(h, name="scores"))
    return ark.compiler.export_schedule(program, "cpu:4").splitlines(keepends=True)


def main() -> None:
    lines = schedule()
    print(ark.compiler.check("".join(lines)))
    removed = 0
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(("ark.wait", "ark.signal")):
            continue
        try:
            ark.compiler.check("".join(lines[:number] + lines[number + 1 :]))
        except ark.CompileError as error:
            item = " ".join(line.split()[:2])
            print(f"\nwithout line {number + 1}, {item}:\n{error}")
            removed += 1
        else:
            raise SystemExit(f"line {number + 1} can be spared: {line}")
    print(f"\nall {removed} are needed")


if __name__ == "__main__":
    main()
