"""A kernel of another library on a non-blocking stream while ark loads, binds, runs and closes.

The vendor's driver may wait for that kernel in any call that allocates or frees memory or code.
Each test prints how long its calls took: `pytest -rP tests/gpu/test_foreign.py`.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from internals import driver_of

import ark_mlir as ark
from ark_mlir.runtime.gpu import backlog

Arrays = dict[str, Any]
Load = Callable[[str], ark.Executable]

pytestmark = pytest.mark.gpu

CYCLES = 16_000_000_000  # 8 s at 2 GHz
LIMIT = 0.5
BOUND = 3.0  # seconds for one call: its time limit, and its own work


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LIMIT_SECONDS", LIMIT)


@contextmanager
def spinning(torch: Any) -> Generator[None]:
    """A kernel of one thread, which leaves the SMs free for other kernels."""
    stream, end = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        end.record()
    try:
        yield
        assert not end.query(), "the kernel ended before the test did"
    finally:
        end.synchronize()


def limited(name: str, call: Callable[[], object]) -> bool:
    """Makes a call that has to return in time; returns True if it raised no BusyError."""
    start = time.monotonic()
    good = False
    with suppress(ark.BusyError):
        call()
        good = True
    seconds = time.monotonic() - start
    print(f"{name}: {seconds:.3f} s, {'done' if good else 'BusyError'}")
    assert seconds < BOUND, name
    return good


@pytest.fixture
def bound(load: Load, block: Arrays) -> Callable[[], ark.Executable]:
    """``bound()`` returns a program with bound parameters."""

    def make() -> ark.Executable:
        executable = load("streams")
        return executable.bind({b.name: block[f"input.{b.name}"] for b in executable.parameters})

    return make


def free_memory(torch: Any) -> int:
    return int(torch.cuda.mem_get_info()[0])


def test_load_bind_run_and_close(
    torch: Any, bound: Callable[[], ark.Executable], block: Arrays
) -> None:
    with bound() as first:
        expected = first.run(x=block["input.x"])["y"].tobytes()
    made: list[ark.Executable] = []
    with spinning(torch):
        if limited("load and bind", lambda: made.append(bound())):
            (executable,) = made
            start = time.monotonic()
            assert executable.run(x=block["input.x"])["y"].tobytes() == expected
            print(f"run: {time.monotonic() - start:.3f} s")
            limited("close", executable.close)
    with bound() as again:
        assert again.run(x=block["input.x"])["y"].tobytes() == expected


def test_close_frees_everything(torch: Any, bound: Callable[[], ark.Executable]) -> None:
    bound().close()
    before = free_memory(torch)
    executable = bound()
    with spinning(torch):
        limited("close", executable.close)
    end = time.monotonic() + BOUND
    while free_memory(torch) < before and time.monotonic() < end:
        time.sleep(0.01)
    assert free_memory(torch) >= before


def test_drop(torch: Any, block: Arrays, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """The executable is dropped without `close`."""
    errors: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: errors.append(args.exc_value))
    bundle = load("good").bundle
    held: list[Any] = [ark.Executable(bundle).prepare()]
    with spinning(torch):

        def drop() -> None:
            held.clear()
            gc.collect()

        limited("drop", drop)
    assert all(isinstance(error, ark.BusyError) for error in errors)


def test_calls_of_the_driver(torch: Any, bound: Callable[[], ark.Executable]) -> None:
    """Prints which calls of the vendor's driver wait for the kernel, and checks that each returns
    in time."""
    driver = driver_of(bound())
    api = driver._api
    size = 64 << 20
    with spinning(torch):
        memory: list[tuple[str, Any]] = []
        for take, give, arguments in (
            (api.names.allocate, api.names.free, (size,)),
            (api.names.allocate_host, api.names.free_host, (size, 0)),
        ):
            owner = type("Owner", (), {})()

            def call(take: str = take, give: str = give, arguments: Any = arguments) -> None:
                memory.append((give, api.take(take, give, *arguments)))

            if limited(take, call):
                give, handle = memory[-1]
                limited(give, api.own(owner, give, handle))
