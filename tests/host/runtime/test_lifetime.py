"""Release of memory, threads and files: by `close`, by garbage collection, at process exit."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of, runner_of, storage_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.arrays.dlpack import describe_dlpack
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, compile_kernel, counting_program

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]
W = np.arange(128, dtype=np.float32)


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Collects the errors passed to `sys.unraisablehook`."""
    caught: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: caught.append(args.exc_value))
    return caught


def added(cuda: FakeCuda, kernel: bytes) -> Executable:
    return fake_executable(cuda, kernel, add_program()).bind({"w": W})


def read(record: dict[str, Any]) -> Array:
    """Returns an array of the stand-in's device through its array interface; its memory is host
    memory."""
    return np.array(np.asarray(type("Host", (), {"__array_interface__": record})))


# -- outputs on a device -------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["close", "drop", "run and close"])
def test_outputs_outlive_the_executable(cuda: FakeCuda, kernel: bytes, x: Array, end: str) -> None:
    """With the array interface and with DLPack, the end of the last reference frees the memory."""
    executable = added(cuda, kernel)
    first = executable.run(x=OnDevice(x))["y"]
    second = executable.run(x=OnDevice(2 * x))["y"]
    address, _, shape, _, capsule = describe_dlpack(second, "y", None)
    del second
    if end == "run and close":
        executable.run(x=OnDevice(-x))
    if end != "drop":
        executable.close()
    del executable
    gc.collect()
    # Two arrays, and their context.
    assert cuda.held == 2 + cuda.contexts
    np.testing.assert_array_equal(read(first.__cuda_array_interface__), x.ravel() + W + 0.5)
    record = {"version": 3, "shape": shape, "typestr": "<f4", "data": (address, False)}
    np.testing.assert_array_equal(read(record), 2 * x.ravel() + W + 0.5)
    # Other programs are loaded and closed.
    added(cuda, kernel).close()
    np.testing.assert_array_equal(read(record), 2 * x.ravel() + W + 0.5)
    del first, capsule
    gc.collect()
    assert cuda.held == 0


def test_outputs_of_the_host_outlive_the_executable(add: Executable, x: Array) -> None:
    y = add.run(x=x)["y"]
    add.close()
    gc.collect()
    np.testing.assert_array_equal(y, np.arange(128) + 1.5)


# -- dropping ------------------------------------------------------------------------------------


def never_used(executable: Executable, x: Array) -> None:
    executable.prepare()


def after_a_run(executable: Executable, x: Array) -> None:
    executable.run(x=OnDevice(x))
    executable.run(x=x)


def after_a_failed_run(executable: Executable, x: Array) -> None:
    with pytest.raises(ark.InvalidUsageError):
        executable.run(x=x[:1])


def in_a_block(executable: Executable, x: Array) -> None:
    executable.block = executable.resident()  # type: ignore[attr-defined]
    executable.block.__enter__().run(x=x)  # type: ignore[attr-defined]


def after_sharing(executable: Executable, x: Array) -> None:
    executable.reset()
    executable.share_states(executable)


@pytest.mark.parametrize(
    "use", [never_used, after_a_run, after_a_failed_run, in_a_block, after_sharing]
)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another thread"])
def test_dropping_frees_all_resources(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    use: Callable[[Executable, Array], None],
    elsewhere: bool,
    unraisable: list[BaseException],
) -> None:
    """All resources are freed even if the garbage collector runs in a thread that never used the
    device."""
    executables = [added(cuda, kernel)]
    use(executables[0], x)
    executables[0].itself = executables  # type: ignore[attr-defined]  # a cycle
    del executables
    if elsewhere:
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    else:
        gc.collect()
    assert (cuda.held, cuda.running, unraisable) == (0, 0, [])


@pytest.mark.parametrize("vendor", [FakeCuda], ids=["cuda"])
def test_a_thread_keeps_its_own_context(cuda: FakeCuda, kernel: bytes) -> None:
    """The garbage collector may free an executable in any thread, and must restore its context."""
    executable = added(cuda, kernel)
    cuda.cuCtxSetCurrent("of another device")
    del executable
    gc.collect()
    assert cuda.cuCtxPopCurrent() == (0, "of another device")
    assert cuda.held == 0


def test_failures_to_free_are_logged(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    unraisable: list[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = added(cuda, kernel).run(x=OnDevice(x))["y"]
    gc.collect()
    monkeypatch.setattr(cuda, "_cuMemFree", lambda address: (1,), raising=False)
    del output
    gc.collect()
    assert [type(error) for error in unraisable] == [ark.DeviceError]
    failed = f"{cuda.pattern('cuMemFree')} failed: {cuda.error('INVALID_VALUE')}"
    assert re.search(failed, str(unraisable[0]))


def test_closing_raises_the_errors_of_freeing(
    cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other resources are freed."""
    executable, free = added(cuda, kernel), cuda._cuMemFree
    weight = storage_of(executable).slots()[2]
    monkeypatch.setattr(
        cuda, "_cuMemFree", lambda address: (1,) if address == weight.address else free(address)
    )
    failed = f"{cuda.pattern('cuMemFree')} failed: {cuda.error('INVALID_VALUE')}"
    with pytest.raises(ark.DeviceError, match=failed):
        executable.close()
    assert cuda.held == 1


def an_output(executable: Executable, x: Array) -> object:
    return executable.run(x=OnDevice(x))["y"]


def an_executable(executable: Executable, x: Array) -> object:
    executable.run(x=x)
    return executable


@pytest.mark.parametrize("make", [an_output, an_executable])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another thread"])
def test_dropping_in_a_capture_does_not_end_it(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    make: Callable[[Executable, Array], object],
    elsewhere: bool,
    unraisable: list[BaseException],
    in_threads: Callable[..., None],
) -> None:
    """Another library captures its stream in the same context; the garbage collector frees memory
    in any thread."""
    cuda.keep_context()
    cycle: list[object] = [make(added(cuda, kernel), x)]
    cycle.append(cycle)
    stream = cuda.new_stream()
    cuda.begin_capture(stream)
    del cycle
    if elsewhere:
        in_threads(gc.collect)
    else:
        gc.collect()
    assert (cuda.held, unraisable) == (cuda.contexts, [])
    cuda.end_capture(stream)(stream)


def test_a_thread_keeps_its_own_capture_mode(cuda: FakeCuda, kernel: bytes) -> None:
    executable = added(cuda, kernel)
    exchange = getattr(cuda, f"{cuda.prefix}ThreadExchangeStreamCaptureMode")
    mode = exchange(1)
    del executable
    gc.collect()
    assert exchange(0) == (0, 1)
    assert (mode, cuda.held) == ((0, 0), 0)


def in_memory() -> int:
    """Returns the number of loaded kernels of cpu programs."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum("ark_kernel" in line and "r-xp" in line for line in lines)


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def run_on_host(executable: Executable) -> None:
    executable.run()


def stay_on_host(executable: Executable) -> None:
    executable.block = executable.resident()  # type: ignore[attr-defined]
    executable.block.__enter__().run()  # type: ignore[attr-defined]


def interrupted_on_host(executable: Executable) -> None:
    driver = driver_of(executable)
    wait = driver.wait

    def interrupt() -> Any:
        driver.wait = wait
        driver._interrupt()
        raise KeyboardInterrupt

    driver.wait = interrupt
    with pytest.raises(KeyboardInterrupt):
        executable.run(iterations=10**9)


@pytest.mark.parametrize("use", [run_on_host, stay_on_host, interrupted_on_host])
def test_dropping_a_program_of_the_host(
    kernel: bytes, use: Callable[[Executable], None], lane_threads: Callable[[], int]
) -> None:
    gc.collect()
    before = files(), in_memory()
    executable = Executable.from_parts(*counting_program().parts(kernel)).prepare()
    use(executable)
    assert (files(), in_memory()) == (before[0] + 1, before[1] + 1)
    gone = weakref.ref(runner_of(executable))
    executable.itself = executable  # type: ignore[attr-defined]  # a cycle
    del executable
    assert lane_threads() == 0  # collects garbage
    assert (files(), in_memory(), gone()) == (*before, None)


# -- the end of the process ----------------------------------------------------------------------

_AT_THE_END = """
import atexit
atexit.register(lambda: print(cuda.held, cuda.running))
import sys, threading, time
import numpy as np
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import *
cuda, x = FakeCuda(), np.ones((8, 16), np.float32)
kernel = compile_kernel()
add = fake_executable(cuda, kernel, add_program()).bind({"w": x.reshape(-1)})
other = fake_executable(cuda, kernel, counting_program()).prepare()
"""


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("add.run(x=x)", 0),
        ("y = add.run(x=OnDevice(x))", 2),  # the caller's context
        ("block = add.resident(); r = block.__enter__(); r.run(x=x)", 0),
        ("add.close()", 0),
        ("add.run(x=x); sys.exit(0)", 0),
    ],
)
def test_a_process_frees_everything_at_exit(end: str, left: int) -> None:
    script = f"{_AT_THE_END}{end}"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{left} 0\n", "")


def test_a_process_that_ends_in_a_run() -> None:
    """A daemon thread, which the process does not join, is in a run."""
    script = """
import threading, time
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import *
executable = Executable.from_parts(*counting_program().parts(compile_kernel())).prepare()
threading.Thread(target=lambda: executable.run(iterations=10**9), daemon=True).start()
while executable.peek("n") < 3:
    time.sleep(0.001)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_fork_leaves_the_device_alone() -> None:
    """The child drops, closes and leaves executables; all resources stay those of the parent."""
    script = f"""{_AT_THE_END}
import os
if os.fork() == 0:
    del add
    other.close()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert (add.run(x=x)["y"] == 2.5).all()
"""
    # Python counts threads of the system, of which one may outlive its join for a moment.
    no_warning = ["-W", "ignore:This process:DeprecationWarning"]
    result = subprocess.run(
        [sys.executable, *no_warning, "-c", script], capture_output=True, text=True, timeout=100
    )
    lines = result.stdout.split("\n")
    assert (result.returncode, result.stderr, lines[-2:]) == (0, "", ["0 0", ""])
    assert int(lines[0].split()[0]) > 10  # belongs to the child


# -- closing -------------------------------------------------------------------------------------


@pytest.fixture(params=["cpu", "cuda"])
def counter(request: pytest.FixtureRequest, cuda: FakeCuda, kernel: bytes) -> Executable:
    """``y = x``, and a state that counts iterations."""
    program = ToyProgram(sms=1)
    x = program.buffer("x", "input", "int64", [])
    w = program.buffer("w", "parameter", "fp32", [4])
    state = program.buffer("n", "state", "int64", [])
    y = program.buffer("y", "output", "int64", [])
    del x, w, y
    count = program.task("count", 1, [(state, 0)])
    program.lane(0, [(0, count, 0, 1)])
    if request.param == "cuda":
        return fake_executable(cuda, kernel, program).prepare()
    return Executable.from_parts(*program.parts(kernel)).prepare()


CALLS: dict[str, Callable[[Executable], object]] = {
    "run": lambda exe: exe.run(x=np.zeros((), np.int64)),
    "run without inputs": lambda exe: exe.run(),
    "bind": lambda exe: exe.bind({"w": W[:4]}),
    "bind nothing": lambda exe: exe.bind({}, strict=False),
    "reset": lambda exe: exe.reset(),
    "prepare": lambda exe: exe.prepare(),
    "check": lambda exe: exe.check(),
    "states": lambda exe: exe.states,
    "peek": lambda exe: exe.peek("n"),
    "resident": lambda exe: exe.resident().__enter__(),
    "share_states": lambda exe: exe.share_states(exe),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_after_closing(counter: Executable, name: str) -> None:
    states = counter.states
    counter.close()
    with pytest.raises(ark.InvalidUsageError, match="the executable 'toy' is closed"):
        CALLS[name](counter)
    with pytest.raises(ark.InvalidUsageError, match="the executable 'toy' is closed"):
        states["n"]


def test_reports_work_after_closing(counter: Executable, tmp_path: Path) -> None:
    counter.bind({"w": W[:4]}).close()
    assert (counter.name, len(counter.inputs), len(counter.outputs)) == ("toy", 1, 1)
    assert len(counter.parameters) == 1
    assert "toy" in repr(counter)
    counter.save(tmp_path / "toy.arkbin")
    assert (tmp_path / "toy.arkbin").stat().st_size > 0
    report = counter.report()
    assert (report.bound_in_place, report.bound_copied) == (0, 0)
    assert str(report)


def test_closing_before_loading(kernel: bytes) -> None:
    executable = Executable.from_parts(*counting_program().parts(kernel))
    executable.close()
    for call in CALLS.values():
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            call(executable)


def test_peek_before_loading(kernel: bytes) -> None:
    executable = Executable.from_parts(*counting_program().parts(kernel))
    with pytest.raises(ark.InvalidUsageError, match="is not loaded"):
        executable.peek("n")
    with pytest.raises(ark.InvalidUsageError, match="has no state 'm'"):
        executable.peek("m")
    executable.close()


def test_closing_again_and_in_several_threads(
    counter: Executable, cuda: FakeCuda, in_threads: Callable[..., None]
) -> None:
    in_threads(*[counter.close] * 4)
    counter.close()
    assert cuda.held == 0


def test_closing_waits_for_a_run(
    make: Make, napping: ToyProgram, in_threads: Callable[..., None]
) -> None:
    """Each iteration takes 20 ms; then the next run raises."""
    executable = make(napping)
    driver = driver_of(executable)
    results: list[object] = []

    def run_again_and_again() -> None:
        while True:
            results.append(executable.run(iterations=10))

    def work() -> None:
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            run_again_and_again()

    def close() -> None:
        while executable.peek("n") < 2:
            time.sleep(0.001)
        executable.close()

    in_threads(work, close)
    # All runs were complete.
    assert driver.epoch == 10 * len(results) > 0


def test_looking_while_another_thread_closes(
    counter: Executable, cuda: FakeCuda, in_threads: Callable[..., None]
) -> None:
    """`peek` returns a value or raises an error, and never reads memory that was freed."""
    seen: list[int] = []
    started = threading.Event()

    def look_again_and_again() -> None:
        while True:
            seen.append(int(counter.peek("n")))
            started.set()

    def look() -> None:
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            look_again_and_again()

    def close() -> None:
        started.wait(60)
        counter.close()

    in_threads(look, look, close)
    assert set(seen) == {0}
    assert cuda.held == 0


def test_failed_loads_leak_nothing(kernel: bytes) -> None:
    assert compile_kernel() == kernel
    program = counting_program()
    good = FakeCuda()
    fake_executable(good, kernel, program).prepare().close()
    for memory in range(0, 20_000, 500):
        cuda = FakeCuda(memory=memory)
        executable = fake_executable(cuda, kernel, program)
        try:
            executable.prepare()
        except ark.DeviceError:
            assert cuda.held == 0
        executable.close()
        assert cuda.held == 0
