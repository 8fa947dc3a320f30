"""Running a bundle for hip raises an error with the missing requirement."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.bundle import write_bundle
from ark_mlir.cli.main import main
from ark_mlir.runtime.drivers.hip import make_driver
from ark_mlir.testing.toy import add_program


class FakeHip:
    """The part of hip-python's module that queries GPUs."""

    def __init__(self, code: int, count: int) -> None:
        self._result = code, count

    def hipGetDeviceCount(self) -> tuple[int, int]:
        return self._result


class NoLibrary:
    def hipGetDeviceCount(self) -> Any:
        raise RuntimeError("libamdhip64.so cannot be found")


@pytest.mark.parametrize(
    ("hip", "message"),
    [
        (NoLibrary(), r"needs a GPU of AMD: libamdhip64\.so cannot be found"),
        (FakeHip(100, 0), "needs a GPU of AMD: 100"),
        (FakeHip(0, 0), "needs a GPU of AMD: this machine has none"),
        (FakeHip(0, 1), "compiles programs for hip, but cannot run them"),
    ],
)
def test_the_missing_requirement_is_named(hip: Any, message: str) -> None:
    with pytest.raises(ark.UnsupportedError, match=message):
        make_driver(hip=hip)


def test_without_the_package(
    kernel: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "hip.hip", None)
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend="hip", arch="gfx942")
    path = tmp_path / "a.arkbin"
    write_bundle(path, manifest, sections)
    message = f"{path}: a program for hip needs the package hip-python to run"
    with pytest.raises(ark.UnsupportedError, match=message):
        ark.load(path)
    assert main(["run", str(path)]) == 1
    assert message in capsys.readouterr().err
