"""Ranks in separate threads, and the errors of the other ranks if one rank fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from internals import runner_of

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.bundle import Bundle, Opcode

SIZE = 3


def build(rank: int) -> ark.Program:
    with ark.Program("look_up", rank=rank, world_size=SIZE) as program:
        x = ark.input("x", (4,))
        index = ark.scalar("index", ark.int32)
        w = ark.parameter("w", (4,))
        picked = ark.gather(x * w, index, 0, name="pick")
        ark.output("y", ark.all_reduce(picked, name="total"))
    return program


@pytest.fixture(scope="module")
def world() -> Iterator[ark.World]:
    with ark.compile([build(rank) for rank in range(SIZE)], target="cpu:1") as world:
        world.bind([{"w": np.full(4, rank + 1, np.float32)} for rank in range(SIZE)])
        yield world


X = np.arange(4, dtype=np.float32)


def each(world: ark.World, inputs: dict[int, dict[str, Any]]) -> dict[int, Any]:
    """Runs the named ranks, each in its own thread, and returns their outputs or errors."""
    results: dict[int, Any] = {}

    def work(rank: int) -> None:
        try:
            results[rank] = world.rank(rank).run(inputs[rank])
        except ark.ArkError as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
        assert not thread.is_alive()
    return results


def good(world: ark.World, index: int = 2) -> None:
    results = each(world, {rank: {"x": X, "index": index} for rank in range(SIZE)})
    assert {rank: float(out["y"]) for rank, out in results.items()} == dict.fromkeys(
        range(SIZE), 6.0 * index
    )


def test_ranks_meet_again_and_again(world: ark.World) -> None:
    for index in range(4):
        good(world, index)


def test_a_rank_that_never_comes(world: ark.World, monkeypatch: pytest.MonkeyPatch) -> None:
    barrier: Any = world.rank(0)._barrier
    await_others, both_there = barrier._await, threading.Barrier(2)

    def wait_until_both_are_there(present: Any, timeout: float) -> None:
        both_there.wait(100)
        await_others(present, timeout)

    with knobs.scope(ARK_TIMEOUT="0.2"), monkeypatch.context() as patch:
        patch.setattr(barrier, "_await", wait_until_both_are_there)
        results = each(world, {rank: {"x": X, "index": 0} for rank in (0, 2)})
    for rank in (0, 2):
        assert isinstance(results[rank], ark.RankFailedError)
        assert f"rank {rank} cannot continue" in str(results[rank])
        assert "rank 1 did not call run within 0.2 s" in str(results[rank])
    good(world)


def test_a_rank_that_reports_its_failure(world: ark.World) -> None:
    barrier: Any = world.rank(1)._barrier

    def fail_when_others_wait() -> None:
        while 0 not in barrier._next_run.calls:
            time.sleep(0.001)
        world.rank(1).fail("out of memory")

    threading.Thread(target=fail_when_others_wait, daemon=True).start()
    results = each(world, {0: {"x": X, "index": 0}})
    assert isinstance(results[0], ark.RankFailedError)
    assert "rank 1 failed: out of memory" in str(results[0])
    good(world)


def test_a_rank_with_wrong_inputs(world: ark.World) -> None:
    inputs = {rank: {"x": X, "index": 0} for rank in range(SIZE)}
    inputs[1] = {"x": X[:2], "index": 0}
    results = each(world, inputs)
    assert isinstance(results[1], ark.InvalidUsageError)
    assert "'rank1/x' has shape [2]" in str(results[1])
    for rank in (0, 2):
        assert isinstance(results[rank], ark.RankFailedError)
        assert "rank 1 failed" in str(results[rank])
    good(world)


def test_a_rank_with_bad_data(world: ark.World) -> None:
    inputs = {rank: {"x": X, "index": 0} for rank in range(SIZE)}
    inputs[2] = {"x": X, "index": 9}
    results = each(world, inputs)
    assert isinstance(results[2], ark.DeviceError)
    assert "task 'rank2/" in str(results[2])
    assert "index 9 is out of range [0, 4)" in str(results[2])
    assert all(isinstance(results[rank], ark.RankFailedError) for rank in (0, 1))
    good(world)


def wait_for_more_signals(bundle: Bundle) -> dict[str, bytes]:
    """Makes a lane of rank 0 wait at its last barrier for one signal more than there are."""
    rows = np.array(bundle.tables.instructions)
    rows[bundle.tables.lanes[0, 2] - 1, 2] += 1
    return {"instructions": rows.tobytes()}


def wait_for_more_packets(bundle: Bundle) -> dict[str, bytes]:
    """Makes a lane of rank 0 wait for a packet that is never sent: the word after those of rank
    1."""
    operands = np.array(bundle.tables.operands)
    instructions = bundle.tables.instructions
    semaphores = list(bundle.tables.packets)
    waits = (instructions[:, 0] == Opcode.WAIT) & np.isin(instructions[:, 1], semaphores)
    wait = instructions[np.argmax(waits)]
    operands[wait[3] + 1, 1] += 8
    return {"operands": operands.tobytes()}


@pytest.mark.parametrize("spoil", [wait_for_more_signals, wait_for_more_packets])
def test_a_rank_that_hangs(world: ark.World, spoil: Callable[[Bundle], dict[str, bytes]]) -> None:
    """All ranks raise the error, which names the rank and the task that waited."""
    bundle = world.bundle
    sections = {**bundle.sections, **spoil(bundle)}
    with ark.World(Bundle.from_parts(bundle.manifest, sections)) as broken:
        broken.bind({"w": np.ones(4, np.float32)})
        # The timeout of the barrier of ranks is long; that of the kernel's waits is short.
        runner = runner_of(broken)
        runner.timeout.nanoseconds = lambda: 300_000_000
        results = each(broken, {rank: {"x": X, "index": 0} for rank in range(SIZE)})
    for error in results.values():
        assert isinstance(error, ark.HangError)
        assert " of rank 0), task 'rank0/" in str(error)
        assert "test_world.py" in str(error)
    good(world)


def test_packets_of_a_run_that_failed_are_none_of_the_next(world: ark.World) -> None:
    """Epochs restart after a failed run: old packets must not be taken for later ones."""
    runner = runner_of(world)
    nanoseconds = runner.timeout.nanoseconds
    for index in range(4):
        good(world, index)
    runner.timeout.nanoseconds = lambda: 0
    try:
        results: dict[int, Any] = {}
        for _ in range(200):
            results = each(world, {rank: {"x": X, "index": 1} for rank in range(SIZE)})
            if isinstance(results[0], ark.HangError):
                break
        assert isinstance(results[0], ark.HangError)
    finally:
        runner.timeout.nanoseconds = nanoseconds
    for index in (3, 0, 2, 1):
        good(world, index)


def test_lists_and_names(world: ark.World) -> None:
    """All ways to name the rank of an input."""
    by_list = world.run([{"x": X} for _ in range(SIZE)], index=1)
    by_keyword = world.run(x=X, index=1)
    by_name = world.run({f"rank{rank}/x": X for rank in range(SIZE)}, index=1)
    for outputs in (by_list, by_keyword, by_name):
        assert [float(out["y"]) for out in outputs] == [6, 6, 6]
    with world.resident() as resident:
        assert [float(o["y"]) for o in resident.run([{"x": X}] * SIZE, index=3)] == [18, 18, 18]
    assert [buffer.name for buffer in world.inputs][:2] == ["rank0/x", "rank1/x"]


def test_errors_in_inputs_name_the_rank(world: ark.World) -> None:
    with pytest.raises(ark.InvalidUsageError, match="a dict for each of the 3 ranks, not 2"):
        world.run([{"x": X}, {"x": X}], index=0)
    with pytest.raises(ark.InvalidUsageError, match="input 'rank2/x' is missing"):
        world.run([{"x": X}, {"x": X}, {}], index=0)
    with pytest.raises(ark.InvalidUsageError, match="there is no input 'rank1/z'"):
        world.run([{"x": X}, {"x": X, "z": X}, {"x": X}], index=0)
    with pytest.raises(ark.InvalidUsageError, match="there is no input 'z'"):
        world.run(x=X, z=X, index=0)
    with pytest.raises(ark.InvalidUsageError, match="entry 1 of the list is a list"):
        world.run([{"x": X}, [X], {"x": X}], index=0)  # type: ignore[list-item]
    with pytest.raises(ark.InvalidUsageError, match="parameter 'rank1/v'"):
        world.bind([{}, {"v": X}, {}])
    with pytest.raises(ark.InvalidUsageError, match="there is no rank 3"):
        world.rank(3)
    with pytest.raises(ark.InvalidUsageError, match="there is no rank -1"):
        world.rank(-1)


def test_a_manifest_of_ranks_is_checked(world: ark.World) -> None:
    manifest, sections = world.bundle.manifest.as_json(), dict(world.bundle.sections)
    for ranks, message in ((2, "cannot be shared equally by 2 ranks"), (1, "ranks"), (9, "ranks")):
        with pytest.raises(ark.BundleError, match=message):
            Bundle.from_parts({**manifest, "ranks": ranks}, sections)
    buffers = [dict(buffer) for buffer in manifest["buffers"]]
    buffers[0]["name"] = "x"
    with pytest.raises(ark.BundleError, match="the name of input 'x' has no rank"):
        Bundle.from_parts({**manifest, "buffers": buffers}, sections)
