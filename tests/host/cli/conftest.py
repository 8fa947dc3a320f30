"""Runs commands in this process, on bundles made with the toy kernel."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
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
