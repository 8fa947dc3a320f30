"""Several ranks, each on a GPU of its own, on stand-ins for GPUs with several GPUs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from internals import driver_of, storage_of
from ring_worlds import PAGE, bound_world, check_run, inputs, weights

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime.cuda import api as cuda_api
from ark_mlir.runtime.drivers.table import drivers_for
from ark_mlir.runtime.hip import api as hip_api
from ark_mlir.runtime.ranks.world import make_executable
from ark_mlir.testing.fake_gpu import FakeCuda, fake_world
from ark_mlir.testing.toy import add_program, ring_program

Array = np.ndarray[Any, Any]

# -- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_results_are_those_of_the_cpu(vendor: type[FakeCuda], kernel: bytes, size: int) -> None:
    cuda = vendor(devices=size)
    parts = ring_program(size).parts(kernel, ranks=size)
    with (
        bound_world(cuda, kernel, size) as world,
        ark.World(Bundle.from_parts(*parts)).bind(weights(size)) as cpu,
    ):
        for scale in (1, 2):
            check_run(world, scale)
            expected = cpu.run(inputs(size, scale))
            for got, wanted in zip(world.run(inputs(size, scale)), expected, strict=True):
                np.testing.assert_array_equal(got["y"], wanted["y"])
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


def test_each_rank_runs_on_its_gpu(vendor: type[FakeCuda], two: FakeCuda, kernel: bytes) -> None:
    """The GPUs need not be the first ones, nor in order."""
    cuda = vendor(devices=4)
    with bound_world(cuda, kernel, devices=[3, 1]) as world:
        check_run(world)
        assert [device.held > 0 for device in cuda.devices] == [False, True, False, True]
        assert len(cuda.launched) == len(set(cuda.launched)) == 2
    assert (cuda.held, cuda.foreign_accesses) == (0, [])


def test_iterations_and_states(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        for iterations in (1, 4, 2):
            check_run(world, iterations=iterations)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(2)] == [7, 7]
        assert [int(world.peek(f"rank{rank}/n")) for rank in range(2)] == [7, 7]
        world.reset()
        check_run(world, iterations=3)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(2)] == [3, 3]


def test_a_resident_world(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        with world.resident() as resident:
            for scale in (1, 3):
                outputs = resident.run(inputs(2, scale))
                assert outputs[1]["y"][0] == scale * 10 + 0.5
        check_run(world)
        assert int(world.states["rank1/n"]) == 3


def test_other_parameters(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        check_run(world)
        world.bind([{"w": np.zeros(128, np.float32)}, {}], strict=False)
        y = world.run(inputs(2))[1]["y"]
        np.testing.assert_array_equal(y, np.full(128, 10.5, np.float32))


def test_a_trace_is_of_the_program_of_all_ranks(
    two: FakeCuda, kernel: bytes, tmp_path: Any
) -> None:
    program = ring_program(2)
    with fake_world(two, kernel, program, 2, trace=True).bind(weights(2)) as world:
        check_run(world, trace=tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text()
    assert all(f"rank{rank}/{name}" in text for rank in range(2) for name in ("send", "receive"))


# -- invalid calls ---------------------------------------------------------------------------


def test_errors_of_bind_and_run_name_the_rank(two: FakeCuda, kernel: bytes) -> None:
    with fake_world(two, kernel, ring_program(2), 2) as world:
        with pytest.raises(ark.InvalidUsageError, match="rank1/w"):
            world.bind([{"w": weights(2)[0]["w"]}, {"w": np.zeros(3, np.float32)}])
        with pytest.raises(ark.InvalidUsageError, match="parameter"):
            world.run(inputs(2))
        world.bind(weights(2))
        with pytest.raises(ark.InvalidUsageError, match="'rank1/x' has shape"):
            world.run([inputs(2)[0], {"x": np.zeros(3, np.float32)}])
        with pytest.raises(ark.InvalidUsageError, match="'rank1/x' is missing"):
            world.run([inputs(2)[0], {}])
        check_run(world)


def install(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """Puts a stand-in in place of the vendor's package."""
    monkeypatch.setattr(cuda_api, "import_driver", lambda: cuda)
    monkeypatch.setattr(hip_api, "find_library", lambda: cuda)


def target_of(cuda: FakeCuda) -> dict[str, Any]:
    """Returns the fields of a target for the GPUs of a stand-in."""
    return {"backend": cuda.backend, "arch": cuda.arch, "warps": 8, "shared_memory": 1024}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, kernel: bytes) -> Callable[..., Any]:
    """``installed(cuda, devices)`` returns a world on GPUs by their numbers, with the stand-in for
    the vendor's package."""

    def make(cuda: FakeCuda, devices: list[int] | None, **options: Any) -> Any:
        install(monkeypatch, cuda)
        manifest, sections = ring_program(2).parts(kernel, ranks=2)
        manifest["target"].update(target_of(cuda))
        return make_executable(Bundle.from_parts(manifest, sections), devices=devices, **options)

    return make


@pytest.mark.parametrize("devices", [None, [1, 0]])
def test_devices_by_number(installed: Any, two: FakeCuda, devices: list[int] | None) -> None:
    with installed(two, devices) as world:
        check_run(world.bind(weights(2)))


@pytest.mark.parametrize("devices", [[0, 0], [1, 1], [1, 0]])
def test_devices_that_are_named_twice(installed: Any, two: FakeCuda, devices: list[int]) -> None:
    with installed(two, devices, concurrent=True) as world:
        check_run(world.bind(weights(2)))
        used = [device.ordinal for device in two.devices if device.held]
        assert used == sorted(set(devices))


def test_the_remedy_for_a_gpu_that_is_named_twice(installed: Any, two: FakeCuda) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        installed(two, [1, 1])
    assert caught.value.notes == (
        "devices=[1] runs all ranks on one GPU in one launch, and concurrent=True runs a launch "
        "for each rank",
    )


def test_a_program_of_one_rank_on_the_second_gpu(
    monkeypatch: pytest.MonkeyPatch, two: FakeCuda, kernel: bytes, x: Array
) -> None:
    """The program uses no memory of the first GPU, even with a resident kernel."""
    install(monkeypatch, two)
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(target_of(two))
    bundle = Bundle.from_parts(manifest, sections)
    with make_executable(bundle, devices=[1]).bind({"w": np.ones(128, np.float32)}) as executable:
        np.testing.assert_array_equal(executable.run(x=x)["y"], x.ravel() + 1.5)
        with executable.resident() as resident:
            np.testing.assert_array_equal(resident.run(x=x)["y"], x.ravel() + 1.5)
        assert [device.held > 0 for device in two.devices] == [False, True]


def test_devices_of_one_rank(cuda: FakeCuda) -> None:
    manifest, sections = add_program().parts()
    manifest["target"].update(target_of(cuda))
    bundle = Bundle.from_parts(manifest, sections)
    with pytest.raises(ark.InvalidUsageError, match=r"has 1 rank, which runs on 1 GPU$"):
        drivers_for(bundle, [0, 1])


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([0, 0], "a GPU is named twice"),
        ([0, 1, 2], "which run on 1 GPU or on 2 GPUs"),
        ([], "expected numbers of GPUs"),
        ([0, -1], "expected numbers of GPUs"),
        ([0, True], "expected numbers of GPUs"),
    ],
)
def test_invalid_devices_raise(
    installed: Any, two: FakeCuda, devices: list[int], message: str
) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        installed(two, devices)
    assert two.calls == []


def test_no_such_device(installed: Any, two: FakeCuda) -> None:
    with pytest.raises(ark.UnsupportedError, match="there is no GPU 2: this process sees 2") as e:
        installed(two, [0, 2]).bind(weights(2))
    assert e.value.notes == ("compile with devices=[0] to run all ranks on one GPU",)


def test_fewer_devices_than_ranks(vendor: type[FakeCuda], installed: Any) -> None:
    with pytest.raises(ark.UnsupportedError, match="there is no GPU 1: this process sees 1") as e:
        installed(vendor(devices=1), None).bind(weights(2))
    assert e.value.notes == ("compile with devices=[0] to run all ranks on one GPU",)


def test_as_many_devices_as_ranks(two: FakeCuda, kernel: bytes) -> None:
    world = fake_world(two, kernel, ring_program(2), 2, devices=[0])
    with pytest.raises(ark.InvalidUsageError, match="has 2 ranks, and 1 devices are given"):
        world.bind(weights(2))


def test_worlds_with_one_copy_of_the_parameters(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as owner:
        guest = fake_world(two, kernel, ring_program(2), 2).prepare()
        two.operations.clear()
        guest.share_states(owner, parameters=True)
        assert "cuMemcpyHtoDAsync" not in two.operations
        check_run(owner)
        check_run(guest)
        assert int(owner.states["rank1/n"]) == 2
        guest.close()
    assert (two.held, two.foreign_accesses) == (0, [])


def test_full_memory_on_one_device(two: FakeCuda, kernel: bytes) -> None:
    """Each of the allocations fails once."""
    sizes = (*range(0, 2 * PAGE, PAGE // 4), *range(2 * PAGE, 2 * PAGE + 60_000, 5_000))
    errors: list[str] = []
    for two.devices[1].memory in sizes:
        try:
            bound_world(two, kernel).close()
            errors.append("")
        except ark.DeviceError as error:
            errors.append(error.message)
        gc.collect()
        assert two.held == 0
    assert {two.error("OUT_OF_MEMORY") in error for error in errors if error} == {True}
    # The number of failures decreases with more memory.
    assert not any(errors[errors.index("") :])


def test_closing_while_other_threads_look_at_states(
    two: FakeCuda, kernel: bytes, in_threads: Callable[..., None]
) -> None:
    world = bound_world(two, kernel)
    check_run(world)
    started = threading.Event()
    seen: set[int] = set()

    def look_again_and_again() -> None:
        while True:
            seen.add(int(world.peek("rank1/n")))
            seen.add(int(world.states["rank1/n"]))
            started.set()

    def look() -> None:
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            look_again_and_again()

    def close() -> None:
        started.wait(60)
        world.close()

    in_threads(look, look, close)
    assert seen == {1}


def test_a_state_of_a_rank_lies_on_its_gpu(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        slots = storage_of(world).slots()
        for buffer in world.bundle.manifest.buffers:
            if buffer.kind in ("state", "parameter"):
                block = two.find_block(slots[buffer.slot].address)
                assert block is not None
                assert block.devices == {two.devices[int(buffer.name[4])]}


def test_the_stand_in_refuses_memory_of_another_gpu(two: FakeCuda, kernel: bytes) -> None:
    """Without the refusal, no test here could show that a kernel touches such memory."""
    world = bound_world(two, kernel)
    check_run(world)
    driver = driver_of(world)
    driver._constants.clear()  # rank 1 gets the constants of rank 0
    with pytest.raises(ark.DeviceError, match=two.error("ILLEGAL_ADDRESS")):
        world.run(inputs(2))
    assert two.foreign_accesses == ["GPU 1: slot 1 of task 4"]
    two.foreign_accesses.clear()
    with pytest.raises(ark.DeviceError):
        world.close()
