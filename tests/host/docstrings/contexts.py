"""The names that examples in docstrings may use: a program under construction, files, arrays.

An example may use every name below without saying where it comes from. A name is made when an
example uses it before it assigns it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ark_mlir as ark


def tensor(*shape: int, dtype: Any = ark.fp32) -> Callable[[str], ark.Tensor]:
    """Makes an input of the program under construction."""
    return lambda name: ark.input(name, shape, dtype)


# Contexts for examples of ops, inside of a program.
TENSORS: dict[str, Callable[[str], Any]] = {
    "x": tensor(4, 64),
    "a": tensor(4, 64),
    "b": tensor(4, 64),
}


def missing_for_gpu() -> str:
    """Returns what examples for GPUs need and this machine lacks, or an empty string."""
    for name, package in {"torch": "PyTorch", "cuda": "cuda-python"}.items():
        if importlib.util.find_spec(name) is None:
            return package
    import torch

    return "" if torch.cuda.is_available() else "a GPU of NVIDIA, and PyTorch sees none"


class Workplace:
    """Arrays, programs, executables and files, each made once for all examples."""

    def __init__(self, folder: Path, write_model: Callable[..., Path]) -> None:
        self.folder = folder
        self._write_model = write_model
        self._made: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return hasattr(type(self), f"make_{name}")

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = getattr(self, f"make_{name}")()
        return self._made[name]

    def write_files(self) -> None:
        """Writes the files that examples read, into the working folder."""
        exe = self["exe"]
        exe.save(self.folder / "mlp.arkbin")
        self.write_safetensors("mlp.safetensors", w=self["w"])
        traced = ark.compile(self["program"], target="cpu:2", trace=True).bind({"w": self["w"]})
        traced.run(x=self["x"], trace=self.folder / "trace.json")
        schedule = ark.compiler.export_schedule(self["program"], "cpu:2")
        (self.folder / "schedule.mlir").write_text(schedule, encoding="utf-8")

    def write_safetensors(self, name: str, **arrays: Any) -> None:
        from safetensors.numpy import save_file

        save_file(arrays, self.folder / name)

    def make_x(self) -> Any:
        return np.linspace(-1, 1, 4 * 64, dtype=np.float32).reshape(4, 64)

    def make_w(self) -> Any:
        return np.linspace(-1, 1, 256 * 64, dtype=np.float32).reshape(256, 64)

    def make_program(self) -> Any:
        """The program of the README: ``x`` (4, 64), ``w`` (256, 64), ``y`` (4, 256)."""
        with ark.Program("mlp") as program:
            x = ark.input("x", (4, 64))
            w = ark.parameter("w", (256, 64))
            ark.output("y", ark.gelu(ark.matmul(x, w, transpose_other=True)))
        return program

    def make_exe(self) -> Any:
        return ark.compile(self["program"], target="cpu:2").bind({"w": self["w"]})

    def names_on_gpu(self) -> dict[str, Any]:
        """An executable, an input of it and an empty graph on the GPU, and PyTorch."""
        import torch

        exe = ark.compile(self["program"], target="cuda").bind({"w": self["w"]})
        x = torch.from_numpy(self["x"]).cuda()
        exe.run(x=x)  # a run comes before each capture
        return {"torch": torch, "graph": torch.cuda.CUDAGraph(), "x": x, "exe": exe}

    def make_communicator(self) -> Any:
        """A communicator of another library, of which an example calls nothing."""
        return object()

    def make_torch_trainer(self) -> Any:
        """A training step of a linear layer of PyTorch, after three steps."""
        import torch

        net, batch = torch.nn.Linear(4, 1), {"x": torch.ones(2, 4)}
        trainer = ark.training.from_torch(
            net,
            lambda net, batch: net(batch["x"]).square().mean(),
            batch,
            optimizer=torch.optim.SGD(net.parameters(), lr=0.05),
            target="cpu:2",
        )
        trainer.run([batch] * 3)
        return trainer

    def make_count(self) -> Any:
        """A program that counts in the state ``total``."""
        with ark.Program("count") as program:
            total = ark.state("total", (4,))
            ark.update(total, total + 1, (0,))
        return program

    def make_p0(self) -> Any:
        return self._rank(0)

    def make_p1(self) -> Any:
        return self._rank(1)

    def make_programs(self) -> Any:
        return [self._rank(rank, 4) for rank in range(4)]

    def _rank(self, rank: int, ranks: int = 2) -> Any:
        with ark.Program("sum", rank=rank, world_size=ranks) as program:
            x, w = ark.input("x", (4,)), ark.parameter("w", (4,))
            ark.output("y", ark.all_reduce(x * w))
        return program

    def make_x0(self) -> Any:
        return np.arange(4, dtype=np.float32)

    make_x1 = make_w0 = make_w1 = make_x0

    def make_world(self) -> Any:
        world = ark.compile([self["p0"], self["p1"]], target="cpu:2")
        return world.bind([{"w": self["w0"]}, {"w": self["w1"]}])

    def make_folder(self) -> Any:
        """Writes the folder of an encoder."""
        return self._write_model(self.folder / "bert", "bert")

    def make_text_folder(self) -> Any:
        """Writes the folder of a model with a tokenizer, a chat template and a prompt."""
        folder = self.folder / "text"
        folder.mkdir()
        model = {"type": "WordLevel", "vocab": {"?": 0, "hello": 1, "world": 2}, "unk_token": "?"}
        tokenizer = {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}
        template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
        prompts = {"prompts": {"query": "query: "}}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        (folder / "chat_template.jinja").write_text(template)
        (folder / "modules.json").write_text("[]")
        (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        return str(folder)

    def make_decoder_folder(self) -> Any:
        return self._write_model(self.folder / "llama", "llama")


@contextlib.contextmanager
def building(world_size: int | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """An open program; the given function makes every tensor of a namespace one of its outputs."""
    rank = None if world_size is None else 0
    with ark.Program("example", rank=rank, world_size=world_size):
        yield declare
        ark.output("always", ark.zeros((1,)))


def declare(namespace: dict[str, Any]) -> None:
    for name, value in namespace.items():
        if isinstance(value, ark.Tensor):
            ark.output(f"{name}_of_the_example", ark.identity(value))
