"""benchmarks/handoff.py on the cpu compiles, runs and prints its tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "handoff.py"


def handoff(*arguments: object) -> str:
    return handoff_once(*arguments, "--sizes", "16x32", "8x16")


def handoff_once(*arguments: object) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def read_table(text: str) -> list[dict[str, str]]:
    """Returns the rows of the only table of a text, by its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return [dict(zip(header, row, strict=True)) for row in rows]


def find_verdicts(details: list[dict[str, str]], kind: str, size: str) -> str:
    return ", ".join(
        f"{row['exposed, us']}: {row['<= 1.0 us']}"
        for row in details
        if row["hand-off"] == kind and row["rows of an SM"] == size
    )


def test_a_chain_is_compared_with_a_stream_of_equal_bytes(tmp_path: Path) -> None:
    handoff("--compile", tmp_path, "--target", "cpu:2", "--products", 4)
    arms = ("chain-barrier", "stream-all", "chain-counter", "stream-some")
    assert {path.stem for path in tmp_path.iterdir()} == {
        f"{arm}-{size}" for arm in arms for size in ("16x32", "8x16")
    }
    out = handoff("--bundles", tmp_path, "--samples", 2, "--output", tmp_path / "table.md")
    details, summary = map(read_table, out.split("Of each kind"))
    assert len(details) == 4
    # The summary has the figures of each arm in the row of its kind, which two arms may share.
    assert {row["hand-off"] for row in details} <= {"barrier", "counter"}
    kinds = dict.fromkeys(row["hand-off"] for row in details)
    sizes = dict.fromkeys(row["rows of an SM"] for row in details)
    assert summary == [
        {"hand-off": kind, "whose": "ark"}
        | {f"exposed, us, {size}": find_verdicts(details, kind, size) for size in sizes}
        for kind in kinds
    ]
    assert (tmp_path / "table.md").read_text().strip() == out.strip()


def test_the_summary_covers_all_chains_of_a_kind() -> None:
    """Two chains of one size have the same kind of hand-off, and a chain of another size does
    not."""
    script = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
from types import SimpleNamespace
from handoff import Size, summarize

small, large = Size(8, 16), Size(16, 32)
pairs = [
    SimpleNamespace(kind=kind, sizes=sizes, exposed=exposed)
    for kind, sizes, exposed in (
        ("counter", small, 0.5),
        ("counter", small, 1.5),
        ("barrier", large, 2.0),
        ("counter", large, 1.0),
    )
]
print(summarize(pairs, "not measured"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    small, large = "exposed, us, 8 x 16", "exposed, us, 16 x 32"
    assert read_table(done.stdout) == [
        {"hand-off": "counter", "whose": "ark", small: "0.50: yes, 1.50: no", large: "1.00: yes"},
        {"hand-off": "barrier", "whose": "ark", small: "", large: "2.00: no"},
    ]


@pytest.mark.parametrize(
    ("target", "size", "words"),
    [("cuda:sm_90a", (16, 2048), 4 * 2048), ("hip:gfx942", (8, 2360), 4 * 2368)],
    ids=["cuda", "hip"],
)
def test_arms_of_a_gpu_use_the_hand_offs_of_their_names(
    target: str, size: tuple[int, int], words: int, tmp_path: Path
) -> None:
    """Packets need no wait between products, and as many words as the results of all products but
    the last. Without packets, hand-offs are counters and barriers."""
    script = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import argparse, shutil
from pathlib import Path
import handoff
from ark_mlir.bundle import read_bundle
from ark_mlir.targets import resolve

shutil.which = lambda name: None  # the kernel by hand has a test of its own
options = argparse.Namespace(
    compile=Path({str(tmp_path)!r}),
    target={target!r},
    products=12,
    sizes=handoff.choose_sizes(resolve({target!r}).sms)[:1],
)
handoff.compile_all(options)
(small,) = handoff.find_sizes(options.compile)
assert (small.rows, small.columns) == {size}
for kind in handoff.KINDS:
    bundle = read_bundle(options.compile / small.file(f"chain-{{kind}}"))
    print(kind, handoff.find_kind(bundle), bundle.manifest.packets)
try:
    handoff.check_kind(bundle, "counter")
except handoff.ark.InvalidUsageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines() == [
        "barrier barrier 0",
        "counter counter 0",
        f"packet packet {11 * words}",
        "a chain for counter hands off by packet",
    ]


def test_a_kind_that_the_compiler_does_not_choose_has_no_chain(tmp_path: Path) -> None:
    """The products of this size have too few readers for a barrier."""
    out = handoff_once(
        "--compile", tmp_path, "--target", "hip:gfx942", "--products", 3, "--sizes", "16x4720"
    )
    assert "16 x 4720: no chain for barrier, as the compiler chooses counter" in out
    names = {path.name for path in tmp_path.glob("chain-*")}
    assert names == {"chain-counter-16x4720.arkbin", "chain-packet-16x4720.arkbin"}


def test_a_folder_without_chains_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--bundles", str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"handoff: {tmp_path} has no chain" in done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc, of the CUDA toolkit")
def test_the_handwritten_kernel_compiles(tmp_path: Path) -> None:
    source = SCRIPT.with_suffix(".cu")
    command = ["nvcc", "-std=c++17", "-arch=sm_90a", "-o", str(tmp_path / "handoff"), str(source)]
    subprocess.run(command, check=True, timeout=300)
