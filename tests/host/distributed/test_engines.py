"""Memory that ranks share through PyTorch, MSCCL++ or NCCL, on stand-ins for these libraries."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.pins import NCCL4PY_VERSION, NCCL_VERSION

SCENARIOS = Path(__file__).parent / "engine_scenarios.py"
ENGINES = ["torch", "mscclpp", "nccl"]

Launch = Callable[..., "list[Any]"]


@pytest.fixture
def launch(launch_ranks: Launch, tmp_path: Path) -> Launch:
    """``launch(engine, fault)``: the result of each rank."""

    def run(engine: str, fault: str = "", **options: Any) -> list[Any]:
        return launch_ranks(SCENARIOS, engine, fault, str(tmp_path), **options)

    return run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [2, 3])
def test_a_program_runs(launch: Launch, engine: str, size: int) -> None:
    """Values are right, GPUs access permitted memory only, and the engine frees all memory."""
    assert launch(engine, size=size) == [[[0.0, 0.0, []], True]] * size


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_at_distant_addresses(launch: Launch, engine: str) -> None:
    """Signals reach memory that a library has mapped terabytes away."""
    assert launch(engine, "far", size=3) == [[[0.0, 0.0, True], [], True]] * 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("swapped", "the self-test read"),
        ("plain", "is wrong: the self-test read"),
        ("refused", "the fabric is down"),
        ("numbers", "this process as rank 1 of 2, and ark as rank 0 of 2"),
        ("missing", "needs"),
        ("mixed", "the engine that shares memory differs"),
    ],
)
def test_every_rank_raises_the_same_error(
    launch: Launch, engine: str, fault: str, message: str
) -> None:
    first, second = launch(engine, fault, size=3 if fault == "swapped" else 2)[:2]
    assert first == second
    (kind, text), clean = first
    assert kind == "UnsupportedError"
    assert message in text
    assert clean or fault == "plain"  # that library leaks what it allocates


@pytest.mark.parametrize(
    ("engine", "fault", "message"),
    [
        ("torch", "uninitialized", "call torch.distributed.init_process_group first"),
        ("mscclpp", "hosts", "has 1 of 2 ranks on this host"),
        ("nccl", "hosts", "cannot access the memory of rank 1, which has the same domain"),
        ("nccl", "no network", "nccl has no network for kernels (GIN): no network adapter"),
        ("nccl", "version", "rank 1: this process has NCCL 2.29.7 (libnccl.so.2), and ark needs"),
    ],
)
def test_a_library_that_is_not_ready(launch: Launch, engine: str, fault: str, message: str) -> None:
    first, second = launch(engine, fault)
    assert first == second
    assert first[0][0] == "UnsupportedError"
    assert message in first[0][1]


def test_ranks_of_several_domains(launch: Launch) -> None:
    """Ranks that NCCL does not map have no address, and the kernel gets NCCL's handles. All is
    freed."""
    results = launch("nccl", "domains", size=3)
    for rank, (result, clean) in enumerate(results):
        others = [None if other == rank else other for other in range(3)]
        assert result == [0x1234, 3, rank, others]
        assert clean


def test_an_aborted_run_over_a_network_without_a_wait(launch: Launch) -> None:
    """Late signals of NCCL would count in the next run, so there is none."""
    for (first, second), clean in launch("nccl", "aborted"):
        assert first == ["BusyError", "aborted"]
        kind, text = second
        assert kind == "DeviceError"
        assert "its signals by NCCL's network may still arrive: load the program again" in text
        assert clean


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fault_at_every_call_of_the_driver(launch: Launch, engine: str) -> None:
    """Both ranks raise each error, no memory leaks, and the next program runs."""
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch(
        engine, "every call"
    )
    assert count > 100
    assert set(others) <= {"RankFailedError", "UnsupportedError"}
    assert set(own) <= {"DeviceError", "UnsupportedError"}
    assert (none, leaks, after) == (own_none, own_leaks, own_after) == (0, 0, 0.0)


def test_the_pins_of_nccl() -> None:
    """The extra installs the versions that ark accepts."""
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    pins = f'nccl = ["nccl4py=={NCCL4PY_VERSION}", "nvidia-nccl-cu13=={NCCL_VERSION}"]'
    assert pins in project


def test_the_interface_of_nccl() -> None:
    """nccl4py has the functions and attributes of its stand-in; needs no GPU."""
    core = pytest.importorskip("nccl.core")
    assert list(inspect.signature(core.mem_alloc).parameters) == ["size", "device"]
    register = inspect.signature(core.Communicator.register_window)
    assert list(register.parameters) == ["self", "buffer", "flags"]
    pointer = inspect.signature(core.RegisteredWindowHandle.get_peer_device_pointer)
    assert list(pointer.parameters)[:2] == ["self", "peer"]
    assert {"rank", "nranks", "create_dev_comm"} <= set(dir(core.Communicator))
    assert "handle" in dir(core.RegisteredWindowHandle)
    assert {"ptr", "close"} <= set(dir(core.DevCommResource))
    assert {
        "gin_context_count",
        "gin_connection_type",
        "gin_strong_signals_required",
        "gin_va_signals_required",
    } <= set(core.NCCLDevCommRequirements.__dataclass_fields__)
    assert core.NcclGinConnectionType.FULL == 1
    bindings = importlib.import_module("nccl.bindings.nccl")
    assert bindings.dev_comm_dtype.itemsize == 248
    assert core.WindowFlag.COLL_SYMMETRIC == 1
    # Without a driver of NVIDIA, the library itself is not loaded.
    assert str(core.get_version().nccl4py) == NCCL4PY_VERSION
    assert {"nccl4py", "libnccl"} <= set(core.VersionInfo.__dataclass_fields__)
    assert {"version", "path"} <= set(core.LibraryInfo.__dataclass_fields__)
    assert version("nvidia-nccl-cu13") == NCCL_VERSION


def test_the_interface_of_pytorch() -> None:
    """PyTorch has the functions and attributes of its stand-in."""
    symmetric = pytest.importorskip("torch.distributed._symmetric_memory")
    assert list(inspect.signature(symmetric.rendezvous).parameters) == ["tensor", "group"]
    assert {"dtype", "device"} <= set(inspect.signature(symmetric.empty).parameters)
    assert hasattr(symmetric._SymmetricMemory, "buffer_ptrs")
