"""`ark doctor` checks every target, and `ark env` lists what each target lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ark_mlir.cli import doctor, env, readiness
from ark_mlir.cli.readiness import Readiness
from ark_mlir.errors import UnsupportedError
from ark_mlir.runtime.cuda.survey import kernel_driver, survey
from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip

Ark = Callable[..., Any]


@pytest.fixture
def compiler() -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")


@pytest.mark.usefixtures("compiler")
def test_every_target_has_a_line(ark: Ark) -> None:
    result = ark("doctor")
    lines = result.out.splitlines()
    assert result.status == 0, result.out
    assert [line.partition(":")[0] for line in lines] == ["cpu", "cuda", "hip"]
    assert "agrees with the interpreter" in lines[0]
    assert lines[2].startswith("hip: ok: compiles for gfx942; not run: ")


@pytest.mark.usefixtures("compiler")
def test_a_wrong_result_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from ark_mlir import reference

    real = reference.evaluate

    def other(*arguments: Any, **options: Any) -> Any:
        expected = real(*arguments, **options)
        expected.outputs["y"][0, 0] += 1
        return expected

    monkeypatch.setattr(reference, "evaluate", other)
    finding = doctor.examine(readiness.find_readiness()["cpu"])
    assert not finding.good
    assert str(finding).startswith("cpu: FAILED: wrong result: the largest error is ")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_no_result(value: float) -> None:
    class Expected:
        outputs = {"y": np.zeros(3)}  # noqa: RUF012
        bounds = {"y": np.ones(3)}  # noqa: RUF012

    with pytest.raises(Exception, match="wrong result"):
        doctor._error(np.array([0.0, value, 0.0]), Expected())


@pytest.mark.usefixtures("compiler")
def test_a_target_that_cannot_compile_fails_with_the_remedy() -> None:
    lacking = Readiness("cpu", "there is no linker", "this processor", False, True, "pip install x")
    finding = doctor.examine(lacking)
    assert not finding.good
    assert str(finding) == "cpu: FAILED: there is no linker (to mend it: pip install x)"


# -- what the machine has -------------------------------------------------------------------------


def test_gpus_with_memory_and_links(monkeypatch: pytest.MonkeyPatch) -> None:
    found = survey(FakeCuda(devices=2, memory=80 << 30))
    assert found.cuda == "12.8"
    assert [(gpu.ordinal, gpu.sms, gpu.memory) for gpu in found.gpus] == [
        (0, 132, 80 << 30), (1, 132, 80 << 30)
    ]  # fmt: skip
    assert [gpu.peers for gpu in found.gpus] == [(1,), (0,)]
    shown = env.gpus(FakeCuda(devices=2, memory=80 << 30))
    assert shown["GPU 1"] == "stand-in (sm_90), 132 SMs, 80 GiB; accesses GPU 0"
    assert shown["driver"].endswith("for CUDA 12.8")
    assert env.gpus(FakeCuda())["GPU 0"] == "stand-in (sm_90), 132 SMs, 1 GiB"


def test_gpus_of_amd() -> None:
    shown = env.amd_gpus(FakeHip(devices=2, sms=304, memory=192 << 30))
    assert shown == {
        "HIP": "6.4.43484",
        "AMD GPU 0": "stand-in (gfx942), 304 CUs, 192 GiB",
        "AMD GPU 1": "stand-in (gfx942), 304 CUs, 192 GiB",
    }
    assert list(env.amd_gpus(FakeHip(fail_at=1))) == ["amd"]


@pytest.mark.parametrize(
    ("gpu", "package", "remedy", "expected"),
    [
        (False, False, "", "this machine has no GPU of AMD"),
        (True, False, "pip install 'ark-mlir[hip]'", "needs something"),
        (True, True, "", "needs something"),
    ],
)
def test_the_remedy_for_hip(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, package: bool, remedy: str, expected: str
) -> None:
    def no_gpu() -> None:
        raise UnsupportedError("a program for hip needs something")

    monkeypatch.setattr(readiness, "_missing_compiler", lambda: "")
    monkeypatch.setattr(readiness, "_find_linker", lambda: None)
    monkeypatch.setattr(readiness, "_find_amd_gpu", no_gpu)
    monkeypatch.setattr(readiness, "has_amd", lambda: gpu)
    monkeypatch.setattr(readiness, "_has_hip_python", lambda: package)
    found = readiness.find_hip()
    assert (found.can_compile, found.can_run, found.remedy) == (True, False, remedy)
    assert expected in str(found)


def test_a_machine_that_runs_hip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text says that no GPU of AMD has run ark."""
    monkeypatch.setattr(readiness, "_missing_compiler", lambda: "")
    monkeypatch.setattr(readiness, "_find_linker", lambda: None)
    monkeypatch.setattr(readiness, "_find_amd_gpu", lambda: None)
    found = readiness.find_hip()
    assert found.can_run
    assert found.runs == "GPU and ROCm; ark was never tested on a GPU of AMD"


def test_the_driver_of_the_operating_system(tmp_path: Path) -> None:
    file = tmp_path / "version"
    assert kernel_driver(file) == ""
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\n")
    assert kernel_driver(file) == "570.86.15"
    file.write_text("none")
    assert kernel_driver(file) == ""


@pytest.mark.parametrize(
    ("gpu", "driver", "package", "remedy"),
    [
        (False, "", False, ""),
        (True, "570.86.15", False, "pip install 'ark-mlir[cuda12]'"),
        (True, "580.65.06", False, "pip install 'ark-mlir[cuda13]'"),
        (True, "570.86.15", True, ""),
    ],
)
def test_the_remedy_for_cuda(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, driver: str, package: bool, remedy: str
) -> None:
    def no_gpu() -> None:
        raise UnsupportedError("a program for cuda needs something")

    monkeypatch.setattr(readiness, "_missing_compiler", lambda: "")
    monkeypatch.setattr(readiness, "_find_gpu", no_gpu)
    monkeypatch.setattr(readiness, "has_nvidia", lambda: gpu)
    monkeypatch.setattr(readiness, "_has_cuda_python", lambda: package)
    monkeypatch.setattr("ark_mlir.runtime.cuda.survey.kernel_driver", lambda: driver)
    found = readiness.find_cuda()
    assert (found.can_compile, found.can_run, found.remedy) == (True, False, remedy)
    expected = "needs something" if gpu else "this machine has no GPU of NVIDIA"
    assert expected in str(found)


def test_without_the_compiler(ark: Ark, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise UnsupportedError("the compiler is not installed here, only the runtime")

    for module in (readiness, doctor, env):
        monkeypatch.setattr(module, "import_compiler", missing)
    targets = json.loads(ark("env", "--json").out)["targets"]
    for text in targets.values():
        assert text.startswith("does not compile: the compiler is not installed here")
        assert text.endswith("to mend it: pip install ark-mlir")
    assert "runs: this processor" in targets["cpu"]
    result = ark("doctor")
    assert result.status == 1
    assert "the compiler is not installed here" in result.err
