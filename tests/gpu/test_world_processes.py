"""A process for every rank, each with a GPU of its own."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import backend_of_bundles
from processes import Launch, count_gpus, two_gpus

from ark_mlir.backends import backend_info

# The results of the programs of two ranks: the sum of 3 * i for i below 4096, and 3 * 3.
SUMS = [3.0 * 4095 * 4096 / 2, 9.0]

pytestmark = pytest.mark.gpu


def free_port() -> int:
    """Returns a port of this host that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@two_gpus
def test_values_and_epochs(launch: Launch) -> None:
    assert launch("values") == [[[SUMS] * 5, 105]] * 2


@two_gpus
def test_legacy_ipc(launch: Launch) -> None:
    library = {"cuda": "CUDA", "hip": "HIP"}[backend_of_bundles()]
    text = f"legacy {library} IPC, since file descriptors of memory are refused"
    assert launch("legacy") == [[text, [SUMS] * 5, 105]] * 2


@two_gpus
@pytest.mark.parametrize("transport", ["sockets of the host", "TCP"])
def test_symmetric_memory_of_torch(launch: Launch, tmp_path: Path, transport: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    if backend_of_bundles() == "hip":
        pytest.skip("needs two NVIDIA GPUs: no engine shares memory of AMD GPUs")
    address = [f"127.0.0.1:{free_port()}"] if transport == "TCP" else []
    results = launch("engine", str(tmp_path / "transport"), *address)
    assert results == [["torch symmetric memory", [SUMS] * 5, 105]] * 2


@two_gpus
def test_no_file_stays_open(launch: Launch) -> None:
    assert launch("files") == [True, True]


@two_gpus
def test_devices_by_number(launch: Launch) -> None:
    assert launch("swapped") == [SUMS, SUMS]


@two_gpus
def test_tensors_on_the_gpus(launch: Launch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert launch("tensors") == [[f"cuda:{rank}", SUMS[0]] for rank in range(2)]


@two_gpus
def test_an_index_out_of_range(launch: Launch) -> None:
    other, own = launch("bad_index")
    assert own[0][0] == "InvalidUsageError"
    assert "5000" in own[0][1]
    assert other[0][0] == "RankFailedError"
    assert "rank 1 failed" in other[0][1]
    assert [own[1], other[1]] == [SUMS, SUMS]


@two_gpus
def test_a_hang(launch: Launch) -> None:
    for results in launch("hang"):
        for kind, text, seconds, after in results:
            assert kind == "HangError", text
            assert "rank0/" in text
            assert seconds < 5
            assert after == SUMS


@two_gpus
def test_a_killed_rank(launch: Launch) -> None:
    begin = time.monotonic()
    survivor, killed = launch("kill")
    assert killed == -signal.SIGKILL
    first, seconds, second, total = survivor
    assert first[0] == second[0] == "RankFailedError"
    assert "rank 1 (process" in first[1]
    assert "has ended" in first[1]
    assert seconds < 5
    assert total == pytest.approx(64, rel=1e-5)
    assert time.monotonic() - begin < 60


@two_gpus
def test_an_interrupted_rank(launch: Launch) -> None:
    other, own = launch("interrupt")
    assert own[0][0] == "KeyboardInterrupt"
    assert other[0][0] == "RankFailedError"
    assert [own[1], other[1]] == [SUMS, SUMS]


@two_gpus
def test_a_stopped_rank(launch: Launch) -> None:
    kind, text = launch("stopped", unheard=1)[0]
    assert kind == "RankFailedError"
    assert "did not join" in text
    assert "is stopped" in text


@pytest.mark.skipif(count_gpus() < 1, reason="needs a GPU")
def test_two_ranks_on_one_gpu(launch: Launch, backend: str) -> None:
    """AMD GPUs run kernels of two processes at once, and NVIDIA GPUs only with MPS."""
    at_once = backend_info(backend).make_gpu_api().runs_processes_at_once
    for kind, text in launch("one_gpu"):
        if at_once:
            assert (kind, text) == ("none", repr([SUMS, SUMS]))
            continue
        assert kind == "UnsupportedError"
        assert "ranks 0 and 1 are on one GPU (GPU-" in text
        assert "devices=[0]" in text


@two_gpus
def test_the_duration_of_runs(
    launch: Launch, record_property: Callable[[str, object], None]
) -> None:
    for rank, (run, iteration) in enumerate(launch("duration")):
        print(f"rank {rank}: {run:.0f} us a run, {iteration:.2f} us an iteration")
        record_property(f"rank{rank}_run_us", run)
        assert run < 100_000
