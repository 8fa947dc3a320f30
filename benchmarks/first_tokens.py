"""The time from a wheel to the first tokens of a model folder, in a new environment.

    python benchmarks/first_tokens.py WHEEL FOLDER [--python python3.12] [--prompt TEXT]

Makes an environment, installs the wheel with the extra `text`, and generates tokens with the
folder of a decoder with its tokenizer. The cache of ark is empty. Packages come from the package
index or from pip's cache, and the times depend on the network.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from table import print_table


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path, help="the model")
    parser.add_argument("--python", default=sys.executable, help="the wheel's version of Python")
    parser.add_argument("--prompt", default="Once upon a time")
    given = parser.parse_args()
    if not given.wheel.is_file():
        parser.error(f"{given.wheel} does not exist; `make wheel` builds wheels into dist/")
    with tempfile.TemporaryDirectory(prefix="ark-") as temporary:
        rows = steps(given.wheel.resolve(), given.folder.resolve(), given, Path(temporary))
    rows.append(("all", sum(seconds for _, seconds in rows)))
    print_table(("step", "s"), [(name, f"{seconds:.1f}") for name, seconds in rows])
    return 0


def steps(
    wheel: Path, folder: Path, given: argparse.Namespace, temporary: Path
) -> list[tuple[str, float]]:
    """Returns the seconds of each step."""
    environment = {**os.environ, "ARK_CACHE_DIR": str(temporary / "cache")}
    venv = temporary / "venv"
    programs = venv / "bin"
    commands: dict[str, Sequence[str | Path]] = {
        "new environment": (given.python, "-m", "venv", venv),
        "pip install WHEEL[text]": (programs / "pip", "install", "--quiet", f"{wheel}[text]"),
        "ark generate, to the last of eight tokens": (
            programs / "ark", "generate", folder, "--prompt", given.prompt, "--max-new-tokens", "8",
        ),
    }  # fmt: skip
    found: list[tuple[str, float]] = []
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment, cwd=temporary)
        found.append((name, time.perf_counter() - start))
    return found


if __name__ == "__main__":
    sys.exit(main())
