"""Decode steps of batches on one GPU: ark against PyTorch, over batch and context.

    python benchmarks/serving.py --compile FOLDER                # where the compiler is
    python benchmarks/serving.py --bundles FOLDER [--output F]   # where the GPU is

Rows, arms and figures are those of decode.py, with batches of 1 to 64 sequences. All sequences of a
batch are at the same position. Workloads that ark cannot express yet are rows "not supported".
"""

from __future__ import annotations

import sys

from decode import ARMS, compile_row, measure_row, workload
from decode_settings import SERVING
from protocol.suite import Suite, run

UNSUPPORTED = {
    "ragged batch": "16 sequences of 64 to 4096 tokens need a position for each sequence; "
    "a program has one position for all",
    "pages": "a KV cache in pages needs a page table in update and attention",
    "mixed batch": "a chunk of a prompt beside decode steps needs a position for each sequence",
    "verification": "several query rows of each sequence need a position for each sequence",
}
DEFAULT_ARMS = (
    "graph",
    "reduce-overhead",
    "reduce-overhead flex",
    "max-autotune",
    "max-autotune flex",
    "ark-1",
    "ark-128",
)

SUITE = Suite(
    name="serving",
    workloads={row: workload(setting) for row, setting in SERVING.items()},
    figures=tuple(row for row in SERVING if row != "tiny-b4"),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=DEFAULT_ARMS,
    unsupported=UNSUPPORTED,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())
