"""`ark env` names the assembler of this machine, or the reason why it cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ark_mlir import knobs
from ark_mlir.errors import CompileError, UnsupportedError
from ark_mlir.targets import cuda_assembler
from ark_mlir.targets.cuda_toolkit import Toolkit

Shown = Callable[[], dict[str, str]]
PTXAS = """\
#!/bin/sh
echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
echo "Cuda compilation tools, release 12.9, V12.9.86"
"""


@pytest.fixture
def shown(ark: Any, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """The section on a machine with neither ptxas nor nvJitLink, unless a test adds one."""
    _no_ptxas(monkeypatch)
    _nvjitlink(monkeypatch, ModuleNotFoundError("No module named 'cuda'"))
    monkeypatch.delenv("ARK_ASSEMBLER", raising=False)

    def show() -> dict[str, str]:
        result = ark("env", "--json")
        assert (result.status, result.err) == (0, "")
        return json.loads(result.out)["assembler"]

    return show


def _no_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Toolkit:
        raise UnsupportedError("there is no ptxas: install it")

    monkeypatch.setattr(cuda_assembler, "find_toolkit", missing)


def _ptxas(monkeypatch: pytest.MonkeyPatch, root: Path, text: str, mode: int = 0o755) -> Path:
    program = root / "bin" / "ptxas"
    program.parent.mkdir(parents=True)
    program.write_text(text)
    program.chmod(mode)
    monkeypatch.setattr(cuda_assembler, "find_toolkit", lambda: Toolkit(root))
    return program


def _nvjitlink(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    def load() -> Any:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(cuda_assembler, "load_nvjitlink", load)


def test_ptxas(shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _ptxas(monkeypatch, tmp_path, PTXAS)
    assert shown() == {"name": "ptxas", "version": "12.9.86", "path": str(program)}


def test_nvjitlink(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    _nvjitlink(monkeypatch, SimpleNamespace(version=lambda: (12, 9)))
    monkeypatch.setattr(
        cuda_assembler, "loaded_libraries", lambda names: [Path("/cuda", f"{names[0]}.so.12")]
    )
    expected = {"name": "nvjitlink", "version": "12.9", "path": "/cuda/libnvJitLink.so.12"}
    assert shown() == expected
    with knobs.scope(ARK_ASSEMBLER="nvjitlink"):
        assert shown() == expected


def test_neither(shown: Shown) -> None:
    """Bundles then hold PTX, which the loading machine assembles."""
    expected = {
        "name": "driver",
        "version": "that of NVIDIA's driver",
        "path": "the machine that loads the bundle",
    }
    assert shown() == expected
    with knobs.scope(ARK_ASSEMBLER="driver"):
        assert shown() == expected


def test_a_missing_assembler_that_the_user_named_is_reported(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ark env` shows no other assembler instead."""
    with knobs.scope(ARK_ASSEMBLER="ptxas"):
        assert shown() == {"name": "error: there is no ptxas: install it"}
    _ptxas(monkeypatch, tmp_path, PTXAS)
    with knobs.scope(ARK_ASSEMBLER="nvjitlink"):
        name = shown()["name"]
    assert "error: there is no nvJitLink" in name
    assert name.endswith("nvidia-nvjitlink; No module named 'cuda'")


def test_an_unknown_name_is_reported(shown: Shown) -> None:
    with knobs.scope(ARK_ASSEMBLER="nvcc"):
        assert "'nvcc' is not a value of ARK_ASSEMBLER: expected one of" in shown()["name"]


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("no program", 0o644, "cannot be run: Permission denied"),
        ("\x7fELF", 0o755, "cannot be run: Exec format error"),
        ("#!/bin/sh\necho no library >&2\nexit 127", 0o755, "its version; no library"),
    ],
)
def test_a_ptxas_that_does_not_work(
    shown: Shown,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    mode: int,
    message: str,
) -> None:
    program = _ptxas(monkeypatch, tmp_path, text, mode)
    name = shown()["name"]
    assert name.startswith(f"error: {program} ")
    assert name.endswith(message)
    with pytest.raises(CompileError, match="ptxas"):
        cuda_assembler.assemble("", "sm_90a", 3)
