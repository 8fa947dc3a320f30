"""A backend that follows docs/extending.md compiles and runs programs: see tests/support/toy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy
from collective_programs import everything
from numpy.typing import NDArray

import ark_mlir as ark
from ark_mlir import backends, dtypes, reference
from ark_mlir.cli.doctor import make_program
from ark_mlir.cli.readiness import find_readiness
from ark_mlir.devices import split_target
from ark_mlir.runtime.drivers.table import drivers_for

pytestmark = [
    pytest.mark.usefixtures("toy_backend"),
    pytest.mark.filterwarnings("ignore::ark_mlir.UnprovenWarning"),
]


@pytest.fixture
def toy_backend() -> Iterator[None]:
    assert toy.missing_tools() == [], "the tools that build ark are missing"
    with backends.registered(toy.INFO):
        yield


def compile_for_toy(program: ark.Program) -> ark.runtime.Executable:
    return ark.compile(toy.lower(program.mlir), cache=False)


def check(result: NDArray[Any], program: ark.Program, arrays: Mapping[str, NDArray[Any]]) -> None:
    expected = reference.evaluate(program, arrays, bound=True)
    assert (np.abs(result - expected.outputs["y"]) <= expected.bounds["y"]).all()


def test_a_program_runs_on_the_toy_gpu() -> None:
    """Products, a softmax and an elementwise epilogue: reductions in warps and in CTAs, and
    semaphores between SMs."""
    rng = np.random.default_rng(0)
    program = make_program()
    arrays = {
        "x": rng.standard_normal((4, 64), np.float32),
        "first": rng.standard_normal((64, 96), np.float32) / 8,
        "second": rng.standard_normal((96, 64), np.float32) / 8,
    }
    with compile_for_toy(program) as executable:
        executable.bind({name: arrays[name] for name in ("first", "second")})
        for _ in range(2):
            check(executable.run(x=arrays["x"])["y"], program, arrays)
        np.testing.assert_array_equal(executable.states["runs"], [2])


def test_sms_wait_for_each_other() -> None:
    """A chain of products whose tiles need the results of both SMs."""
    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((32, 128), np.float32)}
    arrays["w"] = rng.standard_normal((128, 128), np.float32) / 8
    with ark.Program("chain") as program:
        y, w = ark.input("x", (32, 128)), ark.parameter("w", (128, 128))
        for _ in range(3):
            y = ark.relu(y @ w)
        ark.output("y", y)
    with compile_for_toy(program) as executable:
        lanes = executable.bundle.tables.lanes
        lengths = lanes[:, 2] - lanes[:, 1]
        assert len(lengths) == toy.TARGET.sms
        assert lengths.min() > 3
        executable.bind({"w": arrays["w"]})
        for _ in range(3):
            check(executable.run(x=arrays["x"])["y"], program, arrays)


def test_a_bundle_is_read_where_its_backend_is_known(tmp_path: Path) -> None:
    path = tmp_path / "doctor.arkbin"
    with compile_for_toy(make_program()) as executable:
        executable.save(path)
    assert ark.load(path).bundle.manifest.target.backend == "toy"
    script = f"import ark_mlir as ark; ark.load({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "BundleError" in done.stderr
    assert "cpu, cuda, hip" in done.stderr


def test_the_record_states_what_a_backend_lacks() -> None:
    ranks = [everything(rank, 2, dtypes.fp32) for rank in range(2)]
    with pytest.raises(ark.UnsupportedError, match="ranks can be compiled for cpu, cuda, hip, not"):
        ark.compile(ranks, target=toy.TARGET, cache=False)
    with compile_for_toy(make_program()) as executable:
        message = "a program for toy, only with programs for cuda"
        with pytest.raises(ark.InvalidUsageError, match=message):
            drivers_for(executable.bundle, [0])


def test_names_of_targets_follow_the_registry() -> None:
    assert ark.targets.resolve("toy") == toy.TARGET
    assert split_target("toy:0,1") == ("toy", (0, 1))
    with pytest.raises(ark.InvalidUsageError, match=r"no such backend: 'tpu'; .* hip, toy"):
        backends.backend_info("tpu")


def test_doctor_skips_a_backend_without_readiness() -> None:
    assert "toy" not in find_readiness()
