"""Worlds with one process per rank, and the errors of the other ranks if one rank fails."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.distributed.launcher import Identity
from ark_mlir.distributed.rendezvous import connect_ranks
from ark_mlir.distributed.shared import Segment, create_segment

SCENARIOS = Path(__file__).parent / "scenarios.py"
EXAMPLE = Path(__file__).parents[3] / "examples" / "tensor_parallel.py"

Launch = Callable[..., "dict[int, Any]"]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """``launch(size, name, *arguments)`` returns the output of each rank's process, or its exit
    status if it failed."""
    processes: list[subprocess.Popen[str]] = []

    def run(size: int, *words: str) -> dict[int, Any]:
        job = uuid.uuid4().hex
        started: dict[int, subprocess.Popen[str]] = {}
        for rank in range(size):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": job}
            started[rank] = subprocess.Popen(
                [sys.executable, *([] if words[0].endswith(".py") else [SCENARIOS]), *words],
                cwd=tmp_path,
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                text=True,
            )
            processes.append(started[rank])
        results: dict[int, Any] = {}
        for rank, process in started.items():
            if words[0] == "stuck" and rank == 1:
                continue  # the process sleeps until the end of the test
            output, _ = process.communicate(timeout=400)
            results[rank] = process.returncode or json.loads(output.splitlines()[-1])
        return results

    yield run
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_collective(launch: Launch, size: int) -> None:
    assert launch(size, "everything") == dict.fromkeys(range(size), "good")


def test_states_epochs_and_doorbells(launch: Launch) -> None:
    values, expected = [1, 2], []
    for iterations in (1, 3, 40):
        for _ in range(iterations):
            total = (sum(values) + 2**31) % 2**32 - 2**31
            values = [total, total + 1]
        expected.append(list(values))
    values = [1, 2]
    for _ in range(3):
        values = [sum(values), sum(values) + 1]
        expected.append(list(values))
    expected.append(list(values))
    got = launch(2, "chain")
    for rank in (0, 1):
        assert got[rank] == [value[rank] for value in expected]


def test_several_programs_files_and_traces(launch: Launch) -> None:
    # Both ranks: 2 * (1 + 2); the second program gives ten times as much.
    numbers = [6.0, 60.0, 90.0, 9.0, 6.0, 60.0, 6.0]
    assert launch(2, "two_programs") == {
        0: [numbers, ["rank0"]],
        1: [numbers, ["rank1"]],
    }


def test_every_rank_warns_of_a_schedule_that_is_not_proven(launch: Launch) -> None:
    """The warning names the line of the rank's own program, although rank 0 compiles for all."""
    for said, number in launch(3, "unproven").values():
        [[kind, message, file]] = said
        assert (kind, file, number) == ("UnprovenWarning", "scenarios.py", 12.0)
        assert message.startswith("verify=False: the schedule is not proven; a wrong schedule")


def test_tensor_parallel_llama(launch: Launch, tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "llama", "llama")
    alone = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:1")
    tokens = alone.generate([3, 1, 4, 1, 5], max_new_tokens=6, stop=())
    assert launch(2, "llama", str(folder)) == {0: tokens, 1: tokens}


def test_generate_in_a_process_for_each_rank(tiny: Any, tmp_path: Path) -> None:
    """The first rank prints the tokens of one rank; the others print nothing."""
    folder = tiny.write_model(tmp_path / "llama", "llama")
    alone = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:1")
    tokens = alone.generate([3, 1, 4, 1, 5], max_new_tokens=6, stop=())
    ranks = [generate(folder, rank, 2, 2) for rank in range(2)]
    texts = [rank.communicate(timeout=400) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], texts
    assert texts == [(",".join(map(str, tokens)) + "\n", ""), ("", "")]


def test_generate_in_a_world_of_another_size(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "llama", "llama")
    ranks = [generate(folder, rank, 3, 2) for rank in range(3)]
    for rank in ranks:
        _, errors = rank.communicate(timeout=400)
        assert rank.returncode == 1
        assert "tensor_parallel 2 must be the number of ranks of the world, 3" in errors


def generate(folder: Path, rank: int, processes: int, ranks: int) -> subprocess.Popen[str]:
    """Starts ``ark generate`` as one of several processes."""
    words = ["--prompt-ids", "3,1,4,1,5", "--max-new-tokens", "6", "--target", "cpu:1"]
    words += ["--set", "chunk=4", "--set", "max_length=24", "--tensor-parallel", str(ranks)]
    return subprocess.Popen(
        [sys.executable, "-m", "ark_mlir.cli", "generate", str(folder), *words],
        env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(processes)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("tasks", [1000, 6000])
def test_large_profiles(launch: Launch, tasks: int) -> None:
    """Ranks compare options as text, here of some 70 and 420 KiB; errors name what differs."""
    got = launch(2, "large_profile", str(tasks))
    for rank in (0, 1):
        size, result, (kind, text) = got[rank]
        assert size > 64 * tasks
        assert result == 6.0
        assert kind == "InvalidUsageError"
        assert "ranks compile differently: " in text
        assert len(text) < 1000


def test_the_example(launch: Launch) -> None:
    results = launch(2, str(EXAMPLE))
    assert results[0] == results[1]
    assert results[0]["largest difference"] < 1e-4


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torchrun(tmp_path: Path) -> None:
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    result = subprocess.run(
        [sys.executable, *words, SCENARIOS, "chain"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun: apt install openmpi-bin")
def test_mpirun(tmp_path: Path) -> None:
    """A real mpirun, of Open MPI or MPICH, starts the ranks."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True)
    # Open MPI refuses to run as root, and to start more ranks than the machine has cores.
    is_open = "Open MPI" in version.stdout
    words = ["--allow-run-as-root", "--oversubscribe"] if is_open else []
    result = subprocess.run(
        ["mpirun", *words, "-n", "2", sys.executable, SCENARIOS, "chain"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2


# ---------------------------------------------------------------------------- ranks that fail


def test_an_error_of_one_rank_is_raised_by_all(launch: Launch) -> None:
    got = launch(2, "bad_input")
    for rank in (0, 1):
        assert got[rank][1::2] == [6.0, 6.0, 6.0]
    mine, data, count = got[1][::2]
    assert mine[0] == "InvalidUsageError"
    assert "'x' has shape [2]; expected [4]" in mine[1]
    assert data[0] == "DataRangeError"
    assert "index 9 is out of range [0, 4)" in data[1]
    for other, reason in zip(got[0][::2][:2], (mine[1], data[1]), strict=True):
        assert other[0] == "RankFailedError"
        assert f"rank 0 cannot continue: rank 1 failed: {reason}" in other[1]
    assert count == got[0][4]
    assert count == ["InvalidUsageError", "rank 0 runs 1 iterations, and rank 1 runs 2"]


def test_an_error_of_one_sequence_is_raised_by_all(launch: Launch) -> None:
    (other, good), (own, own_good) = launch(2, "bad_sequence").values()
    assert own[0] == "DataRangeError"
    assert "sequence 1: index 9 is out of range [0, 4)" in own[1]
    assert other[0] == "RankFailedError"
    assert f"rank 0 cannot continue: rank 1 failed: {own[1]}" in other[1]
    assert good == own_good


def test_programs_that_differ_raise(launch: Launch) -> None:
    got = launch(2, "bad_programs")
    expected = [
        ("InvalidUsageError", "is 'ark.all_gather of tensor<4x4xf32> axis = 0'"),
        ("InvalidUsageError", "target of rank 0 is cpu:1, and of rank 1 cpu:2"),
        ("InvalidUsageError", "trace of rank 0 is False, and of rank 1 True"),
        (None, "program 'rank0' is for rank 0 of 3, but this process is rank 1 of 2"),
        ("UnsupportedError", "a program for hip needs"),
        ("InvalidUsageError", "rank 0 loads 'other' (y.arkbin), and rank 1 loads 'program"),
    ]
    for rank in (0, 1):
        for (kind, text), message in zip(expected, got[rank], strict=False):
            assert text in message[1]
            assert message[0] == (kind or ("RankFailedError", "InvalidUsageError")[rank])
        assert got[rank][6:] == [[2.0, 3.0], 6.0]
    # The error names the Python lines of both ranks.
    assert got[0][0][1].count("scenarios.py:") >= 2


def test_ctrl_c_in_one_rank(launch: Launch) -> None:
    got = launch(2, "ctrl_c")
    assert got[1] == [["KeyboardInterrupt", ""], 6.0]
    assert got[0][0][0] in ("RankFailedError", "none")
    assert got[0][1] == 6.0


def test_a_rank_that_is_killed(launch: Launch) -> None:
    """The others notice it at once, although their timeout is 100 s."""
    got = launch(3, "killed")
    assert got[1] == -signal.SIGKILL
    for rank in (0, 2):
        for kind, text in got[rank]:
            assert kind == "RankFailedError"
            assert f"rank {rank} cannot continue: rank 1 (process " in text
            assert text.endswith("has ended")


def test_a_rank_that_sends_garbage(launch: Launch) -> None:
    """All ranks raise an error at once, although the timeout is 100 s."""
    got = launch(3, "damaged")
    for rank, (*errors, seconds) in got.items():
        assert seconds < 50
        for kind, text in errors:
            assert kind == "RankFailedError"
            assert f"rank {rank} cannot continue: " in text
            assert "sent a malformed control message: 7 bytes without the header of a frame" in text


def test_a_rank_whose_lanes_do_not_start(launch: Launch) -> None:
    kind, text = launch(2, "stuck")[0]
    assert kind == "LaneHangError"
    assert "rank1/" in text


def test_rank_0_is_stopped_while_it_compiles(launch: Launch) -> None:
    """The other ranks wait without a limit for a process that compiles, but not for one that is
    stopped."""
    got = launch(2, "stopped")
    assert got[1][0] == "RankFailedError"
    assert "did not join compile 'product' within 0.5 s" in got[1][1]
    assert "is stopped, by a signal or a debugger" in got[1][1]
    assert got[0][0] == "RankFailedError"


def test_a_rank_that_waits_in_another_program(launch: Launch) -> None:
    got = launch(2, "elsewhere")
    (kind, text), *values = got[0]
    assert kind == "RankFailedError"
    assert "did not join run 'second' within 0.2 s" in text
    assert "waits for others to run 'first'" in text
    assert values == [6.0, 6.0]
    first, late, second, closed, left = got[1]
    assert (first, second) == (6.0, 6.0)
    assert {late[0], closed[0], left[0]} == {"RankFailedError"}
    assert late[1] == f"rank 1 cannot continue: rank 0 failed: {text}"
    assert closed[1].endswith("has closed the program 'second'")
    assert left[1].endswith("has left the world")


def test_a_rank_that_raises(launch: Launch) -> None:
    got = launch(2, "raises")
    assert got[1] == 1
    kind, text = got[0]
    assert kind == "RankFailedError"
    assert text.endswith("has failed: RuntimeError('no data')")


def test_a_forked_child_is_not_a_rank(launch: Launch) -> None:
    assert launch(2, "forked") == {0: 6.0, 1: 6.0}


def test_nothing_is_left(in_threads: Callable[..., None]) -> None:
    """Ranks leave neither a socket nor a file behind."""
    job, files = uuid.uuid4().hex, set(os.listdir("/dev/shm"))
    links: dict[int, Any] = {}

    def come(rank: int) -> None:
        links[rank] = connect_ranks(Identity(rank, 2, rank, job), 100)

    def compile_and_run() -> None:
        with ark.Program("p", rank=0, world_size=1) as program:
            ark.output("y", ark.zeros((4,)))
        segment = Segment(create_segment(ark.compile(program, target="cpu:1").bundle.manifest))
        assert not segment.take(64).bytes.any()

    for _ in range(2):  # the name is free again, although the links still exist
        old = list(links.values())
        in_threads(lambda: come(0), lambda: come(1), compile_and_run)
        assert set(os.listdir("/dev/shm")) <= files
        for link in old:
            link.close("is done")
    for link in links.values():
        link.close("is done")
