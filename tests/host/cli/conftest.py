"""Runs commands in this process, on bundles made with the toy kernel."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ark_mlir.bundle import Bundle, write_bundle
from ark_mlir.cli.main import main
from ark_mlir.errors import InvalidUsageError, VerificationError
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import add_program, compile_kernel

Ark = Callable[..., "Result"]


@dataclass(frozen=True)
class Result:
    """The result of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def ark(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ark:
    """``ark("run", "a.arkbin")`` runs a command in a new folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Result:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Result(status, *capsys.readouterr())

    return command


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """``y = (x + w) + 0.5`` with a trace."""
    write_bundle(tmp_path / "a.arkbin", *add_program().parts(compile_kernel(), trace=True))
    np.save(tmp_path / "x.npy", np.arange(128, dtype=np.float32).reshape(8, 16))
    np.save(tmp_path / "w.npy", np.ones(128, np.float32))
    return tmp_path / "a.arkbin"


@dataclass
class Options:
    """The options that the stand-in for the compiler accepts."""

    scheduler: str = "list"
    trace: bool = False
    tile: Any = None
    dump_dir: str | None = None


@pytest.fixture
def fake_compiler(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stands in for ``ark_mlir.compiler`` and records its calls."""
    calls: list[dict[str, Any]] = []

    def compile_any(program: object, target: str | None, **options: Any) -> Executable:
        for name in options.keys() - vars(Options()).keys():
            raise InvalidUsageError(f"compile has no option {name!r}")
        calls.append({"program": program, "target": target, **options})
        return Executable.from_parts(*add_program().parts(trace=options.get("trace", False)))

    def check(path: Path, target: str | None = None) -> Any:
        calls.append({"check": path.name, "text": path.read_text(), "target": target})
        if "race" in path.read_text():
            raise VerificationError("a race", location="s.mlir:3:1")
        return "proven: 12 vCTAs, 4 waits"

    def check_bundle(bundle: Bundle) -> Any:
        calls.append({"check": bundle.where})
        return "proven: 16 vCTAs"

    module: Any = types.ModuleType("ark_mlir.compiler")
    module.compile, module.check, module.CompileOptions = compile_any, check, Options
    module.check_bundle = check_bundle
    monkeypatch.setitem(sys.modules, "ark_mlir.compiler", module)
    return calls


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Stands in for ``ark_mlir.models.load``."""
    models: list[Any] = []

    class Program:
        def __init__(self, name: str) -> None:
            self.name = name

    class Model:
        def __init__(self, folder: object, **options: Any) -> None:
            models.append(self)
            self.options = options
            self.prompts: list[Any] = []
            self.programs = {name: Program(name) for name in ("prefill", "decode")}
            self.ranks: dict[str, list[Any]] = {}

        def compile(self, target: str, **chosen: Any) -> None:
            self.target, self.chosen = target, chosen

        timing = "9 tokens/s"

        def generate(self, ids: list[int], count: int, **choice: Any) -> list[int]:
            self.choice = choice
            return [sum(ids)] * count

        def stream(self, prompt: Any, count: int, **choice: Any) -> Iterator[str]:
            self.prompts.append(prompt)
            self.choice = choice
            yield from ["sits", " sits"][:count]

        def stream_batch(self, prompts: list[Any], count: int, **choice: Any) -> Iterator[str]:
            return ("".join(self.stream(prompt, count, **choice)) for prompt in prompts)

    module: Any = types.ModuleType("ark_mlir.models")
    module.load = Model
    module.load_compiled = lambda folder, bundle, **devices: Model(folder, bundle=bundle, **devices)
    monkeypatch.setitem(sys.modules, "ark_mlir.models", module)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}")
    return models


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the package tokenizers; the id of a word is its index in this list."""
    known = ["<end>", "a", "cat", "sits"]

    class Tokenizer:
        @staticmethod
        def from_file(path: str) -> Tokenizer:
            if Path(path).read_text() != "{}":
                raise Exception("expected value at line 1")
            return Tokenizer()

        def no_padding(self) -> None: ...

        def no_truncation(self) -> None: ...

        def encode(self, text: str, add_special_tokens: bool = True) -> Any:
            return types.SimpleNamespace(ids=[known.index(word) for word in text.split()])

        def decode(self, ids: list[int]) -> str:
            return " ".join(known[number] for number in ids if number)

    module: Any = types.ModuleType("tokenizers")
    module.Tokenizer = Tokenizer
    monkeypatch.setitem(sys.modules, "tokenizers", module)
    return known
