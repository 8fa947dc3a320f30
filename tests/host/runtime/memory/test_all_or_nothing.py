"""`bind` and `reset` change all parameters and states, or none if an error is raised."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu.driver import CpuDriver
from ark_mlir.runtime.cpu.kernel import HostMemory
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, run

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]


def summing() -> ToyProgram:
    """``y = a + b`` of fp32 ``[16]``, another parameter and two states."""
    program = ToyProgram(sms=1)
    a, b = (program.buffer(name, "parameter", "fp32", [16]) for name in "ab")
    program.buffer("c", "parameter", "int64", [16])
    program.buffer("s", "state", "fp32", [16], init=3)
    program.buffer("t", "state", "int64", [16])
    y = program.buffer("y", "output", "fp32", [16])
    program.lane(0, [run(program.task("add", 1, [(y, 0), (a, 0), (b, 0)]), 0, 1)])
    return program


def filled(value: int) -> dict[str, Array]:
    """Returns arrays filled with one number, which every device copies, since they are not
    contiguous."""
    names = {"a": np.float32, "b": np.float32, "c": np.int64, "s": np.float32, "t": np.int64}
    return {name: np.full(32, value, dtype)[::2] for name, dtype in names.items()}


def assert_filled(executable: Executable, value: int) -> None:
    np.testing.assert_array_equal(executable.run()["y"], np.full(16, 2 * value))
    for state in executable.states.values():
        np.testing.assert_array_equal(state, np.full(16, value))
    executable.reset()
    for state in executable.states.values():
        np.testing.assert_array_equal(state, np.full(16, value))


@pytest.mark.parametrize("run_between", [False, True])
def test_binding_is_all_or_nothing_on_a_gpu(
    cuda: FakeCuda, kernel: bytes, run_between: bool
) -> None:
    """After each failing call of the vendor's driver, values, states and memory are unchanged, also
    after later calls of `bind`."""
    with fake_executable(cuda, kernel, summing()) as executable:
        executable.bind(filled(1))
        executable.run()
        before = len(cuda.calls)
        executable.bind(filled(1))
        calls = len(cuda.calls) - before
        assert calls > 15
        executable.run()
        held = cuda.held
        for k in range(1, calls + 1):
            cuda.fail_at = len(cuda.calls) + k
            with pytest.raises(ark.DeviceError, match=cuda.error("OUT_OF_MEMORY")):
                executable.bind(filled(2))
            assert cuda.held == held
            if run_between:
                assert_filled(executable, 1)
            executable.bind({"c": np.zeros(16, np.int64)})
            assert_filled(executable, 1)
        executable.bind(filled(2))
        assert_filled(executable, 2)
        assert cuda.held == held
    assert cuda.held == 0


def test_binding_is_all_or_nothing_on_the_host(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each allocation and each write fails once."""
    executable = make(summing()).bind(filled(1))
    for method in ("allocate", "write"):
        for k in range(1, 6):
            left = [k]

            def fail(left: list[int] = left) -> None:
                left[0] -= 1
                if not left[0]:
                    raise ark.DeviceError("no memory")

            with monkeypatch.context() as patch:
                owner: Any = CpuDriver if method == "allocate" else HostMemory
                good = getattr(owner, method)

                def failing(
                    *arguments: Any, fail: Any = fail, good: Any = good, **options: Any
                ) -> Any:
                    fail()
                    return good(*arguments, **options)

                patch.setattr(owner, method, failing)
                if k > 3 and method == "allocate":
                    executable.bind(filled(1))  # every call has failed once
                    continue
                with pytest.raises(ark.DeviceError, match="no memory"):
                    executable.bind(filled(2))
            assert_filled(executable, 1)
    executable.bind(filled(2))
    assert_filled(executable, 2)


def test_a_state_that_cannot_be_restored_is_named(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = make(summing()).bind(filled(1))
    good, count = HostMemory.write, [0]

    def failing(memory: HostMemory, *arguments: Any) -> None:
        count[0] += 1
        if count[0] in (5, 6):
            raise ark.DeviceError(f"write {count[0]} failed")
        good(memory, *arguments)

    monkeypatch.setattr(HostMemory, "write", failing)
    with pytest.raises(ark.DeviceError, match="write 5 failed") as caught:
        executable.bind(filled(2))
    note = "state 's' may hold part of the new value: write 6 failed"
    assert caught.value.notes == (note,)


def counting() -> ToyProgram:
    """Each iteration adds one to three states."""
    program = ToyProgram(sms=1)
    slots = [
        program.buffer(name, "state", "int64", [], init=init) for init, name in enumerate("nml")
    ]
    program.lane(0, [run(program.task("count", 1, [(slot, 0)]), 0, 1) for slot in slots])
    return program


def counts(executable: Executable) -> list[int]:
    return [int(state) for state in executable.states.values()]


def test_reset_is_all_or_nothing_on_a_gpu(cuda: FakeCuda, kernel: bytes) -> None:
    """After a failing call of the vendor's driver, all states have the values of the last run."""
    with fake_executable(cuda, kernel, counting()) as executable:
        executable.bind({"l": np.array(40, np.int64)}).run(iterations=3)
        assert counts(executable) == [3, 4, 43]
        for k in itertools.count(1):
            before = len(cuda.calls)
            cuda.fail_at = before + k
            try:
                executable.reset()
            except ark.DeviceError:
                assert counts(executable) == [3, 4, 43]
            else:
                cuda.fail_at = 0
                assert len(cuda.calls) - before == k - 1 > 6
                break
        assert counts(executable) == [0, 1, 40]
    assert cuda.held == 0


@pytest.mark.parametrize("resident", [False, True])
def test_reset_is_all_or_nothing_on_the_host(
    make: Make, monkeypatch: pytest.MonkeyPatch, resident: bool
) -> None:
    """Each write fails once, with an error of the vendor's driver or with another one."""
    executable = make(counting()).bind({"l": np.array(40, np.int64)})
    executable.run(iterations=3)
    good, left = HostMemory.write, [0]

    def failing(memory: HostMemory, *arguments: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise error
        good(memory, *arguments)

    monkeypatch.setattr(HostMemory, "write", failing)
    with executable.resident() if resident else nullcontext(executable) as each:
        for k in range(1, 4):
            for error in (ark.DeviceError("no memory"), KeyboardInterrupt()):
                left[0] = k
                with pytest.raises(type(error)):
                    each.reset()
                assert counts(executable) == [3, 4, 43]
        each.reset()
    assert counts(executable) == [0, 1, 40]


def test_binding_ranks_is_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the parameters of one rank cannot be bound, those of no rank are."""
    with ark.compile([_rank(0), _rank(1)], target="cpu:1") as world:
        world.bind([{"w": np.full(4, 1.0, np.float32)}, {"w": np.full(4, 2.0, np.float32)}])
        good, count = HostMemory.write, [0]

        def failing(memory: HostMemory, *arguments: Any) -> None:
            count[0] += 1
            if count[0] == 2:
                raise ark.DeviceError("no memory")
            good(memory, *arguments)

        new = np.full(8, 5.0, np.float32)[::2]
        for second in (new, np.zeros(5, np.float32)):
            count[0] = 0
            with monkeypatch.context() as patch:
                patch.setattr(HostMemory, "write", failing)
                with pytest.raises(ark.ArkError):
                    world.bind([{"w": new}, {"w": second}])
            for rank, outputs in enumerate(world.run()):
                np.testing.assert_array_equal(outputs["y"], np.full(4, rank + 1.0))


def _rank(rank: int) -> ark.Program:
    with ark.Program("pair", rank=rank, world_size=2) as program:
        ark.output("y", ark.parameter("w", (4,)) * 1.0)
    return program


def test_a_file_that_ends_early_binds_nothing(
    cuda: FakeCuda, kernel: bytes, tmp_path: Path
) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "a.safetensors"
    numpy.save_file({name: np.ascontiguousarray(a) for name, a in filled(2).items()}, path)
    with fake_executable(cuda, kernel, summing()) as executable:
        executable.bind(filled(1))
        whole = path.read_bytes()
        path.write_bytes(whole[:-64])
        with pytest.raises(ark.ArkError):
            executable.bind(path)
        assert_filled(executable, 1)
        path.write_bytes(whole)
        executable.bind(path)
        assert_filled(executable, 2)


def test_replaced_bindings_are_freed(cuda: FakeCuda, kernel: bytes) -> None:
    with fake_executable(cuda, kernel, summing()) as executable:
        executable.bind(filled(1)).run()
        held = cuda.held
        for value in range(5):
            executable.bind(filled(value))
            assert cuda.held == held
