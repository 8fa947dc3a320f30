"""Measures the first calls of ``torch.compile(backend="ark")``, with GPT-2 of random weights.

    python benchmarks/torch_start.py [--layers 12] [--width 768] [--target cpu]

The first table shows the start of a process whose cache is empty, and the second one that of a
second process, which finds the programs in the cache: seconds of the processor for imports, for
PyTorch's part of the first call (TorchDynamo, AOTAutograd) and for the parts of ark. A row has the
wall-clock time of the first call. The third table shows a process that loads the same model from a
bundle of ``ark.from_torch``, without PyTorch. The last table shows calls with new lengths while a
thread compiles; its first row is the second length, for which PyTorch traces the model again.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from table import print_table

_LENGTHS = (20, 40, 60, 90, 120, 180)
_VOCABULARY = 5000
# The steps of ark in the first call, by the names in ark_mlir.pytorch.backend.
_STEPS = {
    "decompositions": "table of decompositions",
    "bake_constants": "constants",
    "find_problems": "search for unsupported ops",
    "fuse": "division into subgraphs",
    "build_program": "programs of the subgraphs",
    "compile": "look-up in the cache, and compiling or loading",
}


class Clock:
    """The processor's seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def add(self, name: str, begin: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0) + time.process_time() - begin

    def watch(self, owner: Any, function: str, name: str) -> None:
        """Measures all calls of a function of a module or class."""
        called = getattr(owner, function)

        def measured(*arguments: Any, **keywords: Any) -> Any:
            begin = time.process_time()
            try:
                return called(*arguments, **keywords)
            finally:
                self.add(name, begin)

        setattr(owner, function, measured)


def make_model(layers: int, width: int) -> Any:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.manual_seed(0)
    heads = max(1, width // 64)
    config = GPT2Config(n_layer=layers, n_embd=width, n_head=heads, vocab_size=_VOCABULARY)
    return GPT2LMHeadModel(config).eval()


def compiled(model: Any, options: dict[str, Any]) -> Callable[[int], Any]:
    """Returns a function that calls the compiled model with a number of random tokens."""
    import torch

    from ark_mlir.pytorch.backend import backend

    forward = torch.compile(
        lambda tokens: model(tokens, use_cache=False).logits, backend=backend, options=options
    )
    return lambda length: forward(torch.randint(0, _VOCABULARY, (1, length)))


def start(layers: int, width: int, options: dict[str, Any]) -> None:
    """Prints the shares of the first call of this process."""
    clock = Clock()
    begin = time.process_time()
    import torch
    import torch._dynamo
    import torch._dynamo.backends.common
    import torch._functorch.partitioners

    clock.add("import torch", begin)
    model = make_model(layers, width)
    begin = time.process_time()
    from ark_mlir.pytorch import backend
    from ark_mlir.pytorch.subgraph import CompiledSubgraph

    clock.add("import ark", begin)
    for function, name in _STEPS.items():
        clock.watch(backend, function, name)
    clock.watch(CompiledSubgraph, "forward", "first run, which binds the parameters")
    call = compiled(model, options)
    with torch.no_grad():
        begin, at = time.process_time(), time.perf_counter()
        call(16)
        clock.add("the first call", begin)
        wall = time.perf_counter() - at
    seconds = dict(clock.seconds)
    imports = [("import torch", seconds.pop("import torch"))]
    imports.append(("import ark", seconds.pop("import ark")))
    total = seconds.pop("the first call")
    ours = sum(seconds.values())
    rows = [*imports, ("the first call: PyTorch", total - ours), ("the first call: ark", ours)]
    rows += [(f"- {name}", value) for name, value in seconds.items()]
    rows.append(("the first call, s of wall-clock time", wall))
    print_table(("what", "s of the processor"), [(name, f"{value:.3f}") for name, value in rows])


def write_bundle(folder: Path, layers: int, width: int, options: dict[str, Any]) -> None:
    """Converts the model by ``ark.from_torch``, and writes its bundle and its parameters."""
    import torch

    import ark_mlir as ark
    from ark_mlir.runtime.arrays.safetensors import write_safetensors

    program = ark.from_torch(make_model(layers, width), (torch.zeros(1, 16, dtype=torch.int64),))
    ark.compile(program, **options).save(folder / "model.arkbin")
    state = {name: tensor.detach().numpy() for name, tensor in program.state_dict().items()}
    write_safetensors(folder / "model.safetensors", state)


def start_from_bundle(folder: Path) -> None:
    """Prints the times of a process that loads a bundle."""
    clock = Clock()
    begin, at = time.process_time(), time.perf_counter()
    import numpy as np

    import ark_mlir as ark

    clock.add("import numpy and ark", begin)
    begin = time.process_time()
    exe = ark.load(folder / "model.arkbin").bind(folder / "model.safetensors")
    clock.add("load, bind", begin)
    begin = time.process_time()
    exe.run({exe.inputs[0].name: np.zeros((1, 16), np.int64)})
    clock.add("first run", begin)
    rows = [*clock.seconds.items(), ("all, s of wall-clock time", time.perf_counter() - at)]
    print_table(("what", "s of the processor"), [(name, f"{value:.3f}") for name, value in rows])


def new_lengths(layers: int, width: int, options: dict[str, Any]) -> None:
    """Prints the times of calls with new lengths, and of calls while a thread compiles."""
    import torch

    from ark_mlir.pytorch import background

    model = make_model(layers, width)
    call = compiled(model, {**options, "cache": False})

    def seconds(length: int, function: Callable[[int], Any] = call) -> float:
        begin = time.perf_counter()
        function(length)
        return time.perf_counter() - begin

    def eager(length: int) -> Any:
        return model(torch.randint(0, _VOCABULARY, (1, length)), use_cache=False).logits

    first: list[float] = []
    during: list[float] = []
    compilations: list[float] = []
    with torch.no_grad():
        call(5)
        second = seconds(9)  # PyTorch traces with a dynamic size
        background.wait_for_programs()
        for length in _LENGTHS:
            first.append(seconds(length))
            begin = time.perf_counter()
            while not background.idle():
                during.append(seconds(length))
            compilations.append(time.perf_counter() - begin)
        plain = [seconds(length, eager) for length in _LENGTHS]
    rows = [
        (name, f"{statistics.median(times) * 1e3:.1f}", f"{max(times) * 1e3:.1f}", str(len(times)))
        for name, times in (
            ("first call of the second length, which PyTorch traces", [second]),
            ("first call of a length", first),
            ("call while the thread compiles", during),
            ("compilation", compilations),
            ("call in eager PyTorch, afterwards", plain),
        )
        if times
    ]
    print_table(("what", "median, ms", "longest, ms", "number"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--cache", help="folder of the cache; given to the second process")
    parser.add_argument("--bundle", type=Path, help="folder of a bundle; given to a process")
    given = parser.parse_args()
    if given.bundle:
        start_from_bundle(given.bundle)
        return
    if given.cache:
        start(given.layers, given.width, {"target": given.target, "cache": given.cache})
        return
    with tempfile.TemporaryDirectory(prefix="ark-") as cache:
        words = [f"--layers={given.layers}", f"--width={given.width}", f"--target={given.target}"]
        command = [sys.executable, __file__, *words, f"--cache={cache}"]
        for title in ("an empty cache", "a second process"):
            print(f"Start with {title}:\n", flush=True)
            subprocess.run(command, check=True)
            print(flush=True)
        write_bundle(Path(cache), given.layers, given.width, {"target": given.target})
        print("Start from a bundle:\n", flush=True)
        subprocess.run([sys.executable, __file__, f"--bundle={cache}"], check=True)
    print(flush=True)
    new_lengths(given.layers, given.width, {"target": given.target})


if __name__ == "__main__":
    main()
