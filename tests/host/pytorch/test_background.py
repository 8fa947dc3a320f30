"""The thread that compiles programs, and the programs of a graph, without a compiler."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from ark_mlir.interruption import checkpoint, in_background
from ark_mlir.pytorch import background
from ark_mlir.pytorch.background import Job
from ark_mlir.pytorch.programs import Programs

_PATIENCE = 60  # seconds


@pytest.fixture
def gate() -> Generator[threading.Event]:
    """An event for which jobs wait; the test ends after all jobs."""
    event = threading.Event()
    yield event
    event.set()
    assert background.wait_for_programs(_PATIENCE)


def blocked(gate: threading.Event, value: Any = "done") -> Callable[[], Any]:
    def make() -> Any:
        assert gate.wait(_PATIENCE)
        return value

    return make


def test_jobs_run_in_order_in_one_thread_which_ends(gate: threading.Event) -> None:
    seen: list[tuple[int, bool, threading.Thread]] = []

    def job(number: int) -> Job:
        def make() -> int:
            gate.wait(_PATIENCE)
            seen.append((number, in_background(), threading.current_thread()))
            return number

        return Job(str(number), make)

    jobs = [job(number) for number in range(3)]
    assert all(map(background.start, jobs))
    assert not background.idle()
    assert not background.wait_for_programs(0.01)
    gate.set()
    assert background.wait_for_programs(_PATIENCE)
    assert [j.result for j in jobs] == [0, 1, 2]
    assert [number for number, inside, _ in seen if inside] == [0, 1, 2]
    (thread,) = {thread for *_, thread in seen}
    thread.join(_PATIENCE)
    assert not thread.is_alive()
    assert not in_background()


def started(gate: threading.Event) -> Job:
    """Returns a job that runs, and waits for the gate."""
    begun = threading.Event()

    def make() -> str:
        begun.set()
        assert gate.wait(_PATIENCE)
        return "done"

    job = Job("started", make)
    assert background.start(job)
    assert begun.wait(_PATIENCE)
    return job


def test_old_jobs_are_dropped_if_many_wait(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_MAX_WAITING", 2)
    first = started(gate)
    jobs = [Job(str(number), blocked(gate)) for number in range(4)]
    assert all(map(background.start, jobs))
    assert [job.running for job in jobs] == [False, False, True, True]
    gate.set()
    assert background.wait_for_programs(_PATIENCE)
    assert [job.result for job in (first, *jobs)] == ["done", None, None, "done", "done"]


def test_a_job_is_dropped_if_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        job = Job("refused", lambda: print)
        assert not background.start(job)
        assert not job.running
        assert background.idle()
    job = Job("started", lambda: print)
    assert background.start(job)
    assert background.wait_for_programs(_PATIENCE)
    assert job.result is print


def test_callers_compile_after_the_end_of_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "can_start", lambda: False)
    programs = Programs(waits=False)
    for key, program in (("a", len), ("b", max)):
        assert programs.get(key, key, lambda made=program: lambda: made, False) is program


def test_no_job_begins_while_the_worker_is_reserved(gate: threading.Event) -> None:
    gate.set()
    begun = threading.Event()
    with background.reserved() as alone:
        assert alone
        background.start(Job("late", begun.set))
        assert not begun.wait(0.1)
    assert begun.wait(_PATIENCE)


def test_the_worker_cannot_be_reserved_while_a_job_runs(gate: threading.Event) -> None:
    started(gate)
    with background.reserved() as alone:
        assert not alone
    gate.set()
    assert background.wait_for_programs(_PATIENCE)
    with background.reserved() as alone:
        assert alone


def test_a_job_ends_between_two_steps_when_the_main_thread_has_ended(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    class Ended:
        def is_alive(self) -> bool:
            return False

    def make() -> str:
        steps.append(1)
        assert gate.wait(_PATIENCE)
        checkpoint()
        steps.append(2)
        return "done"

    job = Job("job", make)
    assert background.start(job)
    waiting = Job("waiting", blocked(gate))
    assert background.start(waiting)
    monkeypatch.setattr(threading, "main_thread", Ended)
    late = Job("late", blocked(gate))
    assert not background.start(late)
    gate.set()
    for each in (job, waiting, late):
        each.wait()
        assert (each.result, each.error) == (None, None)
    assert 2 not in steps


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_its_own_worker(gate: threading.Event) -> None:
    job = started(gate)
    programs = Programs(waits=False)
    programs.get("first", "first", lambda: lambda: print, False)
    assert programs.get("key", "key", lambda: blocked(gate), False) is None
    programs.begin_requested()
    child = os.fork()
    if child == 0:
        try:
            ok = not job.running and background.idle()
            with background.reserved() as alone:
                ok = ok and alone
            # The child compiles again what the thread of the parent was to compile.
            ok = ok and programs.get("key", "key", lambda: lambda: len, False) is None
            programs.begin_requested()
            ok = ok and background.wait_for_programs(_PATIENCE)
            ok = ok and programs.get("key", "key", lambda: lambda: max, False) is len
        finally:
            os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.set()
    job.wait()
    assert job.result == "done"


def test_nothing_is_compiled_while_a_graph_is_captured(gate: threading.Event) -> None:
    programs = Programs(waits=False)
    prepared: list[str] = []

    def prepare(name: str) -> Callable[[], Callable[[], Any]]:
        prepared.append(name)
        return lambda: print

    assert programs.get("a", "a", lambda: prepare("a"), True) is None  # not even the first one
    assert prepared == []
    assert programs.get("a", "a", lambda: prepare("a"), False) is print
    assert programs.get("b", "b", lambda: prepare("b"), False) is None
    programs.begin_requested()
    assert background.wait_for_programs(_PATIENCE)
    # "b" is ready, but has never run: its first run allocates memory, which a capture does not
    # permit.
    assert programs.get("b", "b", lambda: prepare("b"), True) is None
    assert programs.substitute({"a": 2, "b": 1}.get, True) is print
    assert programs.get("a", "a", lambda: prepare("a"), True) is print
    assert programs.get("b", "b", lambda: prepare("b"), False) is print
    assert programs.get("b", "b", lambda: prepare("b"), True) is print
    assert prepared == ["a", "b"]


def test_the_substitute_has_the_lowest_cost() -> None:
    programs = Programs(waits=True)
    for key, program in (("a", len), ("b", max), ("c", min)):
        assert programs.get(key, key, lambda made=program: lambda: made, False) is program
    costs: dict[Any, float] = {"a": 3, "c": 2}
    assert programs.substitute(costs.get, False) is min
    assert programs.substitute({}.get, False) is None


def test_a_caller_that_must_wait_waits_for_the_thread(gate: threading.Event) -> None:
    """The thread compiles the program already; it is not compiled twice."""
    torch = pytest.importorskip("torch")
    programs = Programs(waits=False)
    assert programs.get("first", "first", lambda: lambda: print, False) is print
    assert programs.get("key", "key", lambda: blocked(gate, len), False) is None
    threading.Timer(0.1, gate.set).start()
    torch.use_deterministic_algorithms(True)
    try:
        assert programs.get("key", "key", lambda: pytest.fail, False) is len
    finally:
        torch.use_deterministic_algorithms(False)


def test_callers_wait_for_the_compilation_of_a_caller(in_threads: Callable[..., None]) -> None:
    programs = Programs(waits=True)
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return print

    def work() -> None:
        assert programs.get("key", "key", lambda: make, False) is print

    in_threads(*[work] * 4)
    assert made == [1]


def test_an_error_is_raised_once_and_then_callers_compile(gate: threading.Event) -> None:
    gate.set()
    programs = Programs(waits=False)
    assert programs.get("first", "first", lambda: lambda: print, False) is print

    def fail() -> Any:
        raise RuntimeError("no luck")

    assert programs.get("key", "key", lambda: fail, False) is None
    programs.begin_requested()
    assert background.wait_for_programs(_PATIENCE)
    # An error would end the capture of a CUDA graph.
    assert programs.get("key", "key", lambda: pytest.fail, True) is None
    with pytest.raises(RuntimeError, match="no luck"):
        programs.get("key", "key", lambda: pytest.fail, False)
    assert programs.get("key", "key", lambda: lambda: len, False) is len


def test_no_cuda_graph_is_recorded_while_a_job_runs(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from ark_mlir.pytorch.capturing import Captured

    called: list[str] = []

    def capture(self: Captured, arguments: object) -> bool:
        called.append("capture")
        return False  # no GPU is needed

    def function(x: Any) -> Any:
        called.append("function")
        return x

    monkeypatch.setattr(Captured, "_capture", capture)
    captured = Captured(function, frozenset(), lambda: None)
    x = torch.zeros(2)
    captured(x)  # the first call runs the function in any case
    job = started(gate)
    captured(x)
    assert called == ["function"] * 2
    gate.set()
    job.wait()
    assert background.wait_for_programs(_PATIENCE)
    captured(x)
    assert called == ["function", "function", "capture", "function"]
