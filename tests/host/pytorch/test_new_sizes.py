"""Calls of ``torch.compile(backend="ark")`` with sizes whose program is not compiled yet: results
while a thread compiles, which program a call uses, and errors of the thread."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]
_PATIENCE = 120  # seconds, after which a test fails


class Compiler:
    """``ark.compile`` that can be blocked, and that records the first extents of its programs."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.error: Exception | None = None
        self.extents: list[int] = []
        self.threads: list[threading.Thread] = []
        self.runs: list[int] = []

    def compile(self, program: ark.Program, **options: Any) -> ark.Executable:
        self.extents.append(max(i.shape[0] for i in program.inputs.values() if i.shape))
        self.threads.append(threading.current_thread())
        assert self.open.wait(_PATIENCE)
        if self.error is not None:
            raise self.error
        return ark.compile(program, **options)

    def ran(self, inputs: Any) -> None:
        self.runs.append(max(x.shape[0] for x in inputs.values() if x.ndim))

    def in_background(self) -> list[bool]:
        """Returns for each compilation whether another thread than the caller's ran it."""
        return [thread is not threading.main_thread() for thread in self.threads]


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Generator[Compiler]:
    from ark_mlir.pytorch import backend, background

    found = Compiler()
    run = ark.Executable.run

    def running(self: ark.Executable, inputs: Any, **options: Any) -> Any:
        found.ran(inputs)
        return run(self, inputs, **options)

    monkeypatch.setattr(backend, "compile", found.compile)
    monkeypatch.setattr(ark.Executable, "run", running)
    yield found
    found.open.set()
    assert background.wait_for_programs(_PATIENCE)


def fast(module: Any, **options: Any) -> Any:
    from ark_mlir.pytorch.backend import backend

    return torch.compile(module, backend=backend, options={"target": "cpu:2", **options})


def attend(x: Any) -> Any:
    return torch.softmax(x @ x.mT, -1) @ x


def check(compiled: Any, function: Any, length: int) -> None:
    x = torch.randn(length, 8)
    torch.testing.assert_close(compiled(x), function(x), rtol=1e-5, atol=1e-5)


def known(compiler: Compiler, function: Any, *lengths: int, **options: Any) -> Any:
    """Returns a compiled function that has programs for `lengths`, the first one dynamic."""
    from ark_mlir.pytorch import background

    compiled = fast(function, **options)
    for number, length in enumerate(lengths):
        x = torch.randn(length, 8)
        if number == 0:
            torch._dynamo.mark_dynamic(x, 0)
        compiled(x)
        assert background.wait_for_programs(_PATIENCE)
    compiler.runs.clear()
    return compiled


def test_a_call_does_not_wait_for_the_program_of_its_length(compiler: Compiler) -> None:
    from ark_mlir.pytorch import background

    compiled = known(compiler, attend, 6)
    compiler.open.clear()
    for _ in range(3):
        check(compiled, attend, 40)  # returns although the compiler is blocked
    assert compiler.runs == []  # PyTorch computed the results
    compiler.open.set()
    assert background.wait_for_programs(_PATIENCE)
    check(compiled, attend, 40)
    check(compiled, attend, 37)
    assert compiler.runs == [48, 48]
    assert compiler.extents == [6, 48]
    assert compiler.in_background() == [False, True]


@pytest.mark.parametrize("sizes", ["padded", "exact"])
def test_the_second_length_does_not_wait(compiler: Compiler, sizes: str) -> None:
    """PyTorch traces the function again, with a dynamic size, and a thread compiles the program."""
    from ark_mlir.pytorch import background

    compiled = fast(attend, sizes=sizes)
    check(compiled, attend, 6)
    compiler.open.clear()
    for _ in range(3):
        check(compiled, attend, 40)  # returns although the compiler is blocked
    assert compiler.runs == [6]
    compiler.open.set()
    assert background.wait_for_programs(_PATIENCE)
    check(compiled, attend, 40)
    assert compiler.runs == [6, 48 if sizes == "padded" else 40]
    assert compiler.in_background() == [False, True]


def test_only_the_first_compilation_of_a_forward_waits(compiler: Compiler) -> None:
    """TorchDynamo counts the compilations of one code, whatever they are for."""
    from ark_mlir.pytorch import background

    class Net(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.linear, self.dropout = nn.Linear(8, width), nn.Dropout(0.0)

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.dropout(self.linear(x)))

    def call(run: Any, net: Any) -> None:
        x = torch.randn(5, 8)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(run(x), net(x))
        assert background.wait_for_programs(_PATIENCE)

    small, large = Net(8), Net(16)
    run = fast(small)
    call(run, small)
    small.eval()
    call(run, small)
    call(fast(large), large)
    assert compiler.in_background() == [False, True, True]


def test_the_second_length_waits_on_request(compiler: Compiler) -> None:
    compiled = fast(attend, new_sizes="wait")
    for length in (6, 40):
        check(compiled, attend, length)
    assert compiler.runs == [6, 48]
    assert compiler.in_background() == [False, False]


def test_the_second_length_of_a_graph_that_cannot_be_padded(compiler: Compiler) -> None:
    from ark_mlir.pytorch import background

    def flipped(x: Any) -> Any:
        return x.flip(0) * 2

    compiled = fast(flipped)
    check(compiled, flipped, 6)
    compiler.open.clear()
    check(compiled, flipped, 9)
    check(compiled, flipped, 9)
    assert compiler.runs == [6]
    compiler.open.set()
    # The thread tries two kinds of padding before it compiles the exact size. It may do so while
    # this thread waits once, or in up to three waits.
    for _ in range(3):
        assert background.wait_for_programs(_PATIENCE)
        check(compiled, flipped, 9)
        if compiler.runs != [6]:
            break
    assert compiler.runs == [6, 9]
    assert compiler.in_background() == [False, True]


def test_a_call_uses_the_program_of_a_larger_length_with_little_padding(
    compiler: Compiler,
) -> None:
    compiled = known(compiler, attend, 12, 24)
    compiler.open.clear()
    check(compiled, attend, 7)  # of 8: both programs fit, and 12 is the smaller one
    check(compiled, attend, 15)  # of 16
    check(compiled, attend, 3)  # of 4: 12 would be three times as many elements
    assert compiler.runs == [12, 24]
    compiler.open.set()


@pytest.mark.parametrize("sizes", ["padded", "exact"])
def test_an_option_waits_for_each_program(compiler: Compiler, sizes: str) -> None:
    compiled = known(compiler, attend, 6, sizes=sizes, new_sizes="wait")
    for length in (12, 24, 12):
        check(compiled, attend, length)
    assert compiler.runs == [12, 24, 12]
    assert compiler.in_background() == [False] * 3


def test_deterministic_algorithms_wait_for_each_program(compiler: Compiler) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        compiled = known(compiler, attend, 6)
        check(compiled, attend, 40)
    finally:
        torch.use_deterministic_algorithms(False)
    assert compiler.runs == [48]
    assert compiler.in_background() == [False, False]


def test_graphs_that_cannot_be_padded(compiler: Compiler) -> None:
    from ark_mlir.pytorch import background

    def flipped(x: Any) -> Any:
        return x.flip(0) * 2

    compiled = known(compiler, flipped, 6)
    compiler.open.clear()
    check(compiled, flipped, 9)
    assert compiler.runs == []
    compiler.open.set()
    assert background.wait_for_programs(_PATIENCE)
    check(compiled, flipped, 9)
    assert compiler.runs == [9]
    assert compiler.in_background() == [False, True]


def test_graphs_that_are_not_recorded_wait(compiler: Compiler) -> None:
    """The thread cannot trace an op that takes graphs."""

    def either(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)).exp() * x

    compiled = known(compiler, either, 6)
    for length in (9, 9, 6):
        check(compiled, either, length)
    assert 9 in compiler.runs
    assert not any(compiler.in_background())


def test_an_error_of_the_thread_is_raised_by_the_next_call(compiler: Compiler) -> None:
    from ark_mlir.pytorch import background

    compiled = known(compiler, attend, 6)
    compiler.error = RuntimeError("no luck")
    check(compiled, attend, 40)
    assert background.wait_for_programs(_PATIENCE)
    check(compiled, attend, 6)  # other lengths are not affected
    for _ in range(2):  # the error of the thread, and then that of a compilation in the call
        with pytest.raises(RuntimeError, match="no luck"):
            compiled(torch.randn(40, 8))
    compiler.error = None
    check(compiled, attend, 40)
    assert compiler.runs == [6, 48]
    assert compiler.in_background() == [False, True, False, False]


def test_a_program_that_does_not_compile_stays_with_pytorch(
    compiler: Compiler, logged: Callable[[], list[str]]
) -> None:
    from ark_mlir.pytorch import background

    compiled = known(compiler, attend, 6)
    compiler.error = ark.CompileError("no luck")
    check(compiled, attend, 40)
    assert background.wait_for_programs(_PATIENCE)
    check(compiled, attend, 40)
    assert len(compiler.extents) == 2
    assert compiler.runs == []
    (message,) = logged()
    assert "no luck" in message
    assert message.endswith("the subgraph runs in eager PyTorch")


def test_the_log_names_what_the_thread_compiled(
    compiler: Compiler, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ark.pytorch")
    known(compiler, attend, 6, 40)
    (line,) = [r.getMessage() for r in caplog.records if "background" in r.getMessage()]
    assert line.startswith("torch.compile: sizes (48,): compiled in the background, ")


def test_threads_with_many_lengths(compiler: Compiler, in_threads: Callable[..., None]) -> None:
    compiled = known(compiler, attend, 6)

    def work() -> None:
        with torch.no_grad():
            for length in (6, 9, 17, 33, 65) * 3:
                check(compiled, attend, length)

    in_threads(*[work] * 4)
    assert compiler.extents[0] == 6
    assert sorted(compiler.extents) == sorted(set(compiler.extents))  # none was compiled twice


def test_few_programs_are_kept(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    from ark_mlir.pytorch import programs

    monkeypatch.setattr(programs, "_MAX_PROGRAMS", 2)
    compiled = known(compiler, attend, 100, 30, 6, 30)
    for length in (30, 6):
        check(compiled, attend, length)
    assert compiler.extents == [128, 32, 6]
    check(compiled, attend, 100)  # was dropped
    assert compiler.runs == [32, 6]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x: Any) -> Any:
        return self.norm(x + self.down(torch.tanh(self.up(x))))


def test_gradients_while_the_thread_compiles(compiler: Compiler) -> None:
    """The forward pass and the backward pass of a step may run in different programs; statistics
    of a batch norm are written once."""
    from ark_mlir.pytorch import background

    net = Net()
    plain = copy.deepcopy(net)
    compiled = fast(net)

    def gradients(model: Any, function: Any, x: Any) -> list[Any]:
        """Returns the result, the gradients and the statistics of a step."""
        model.zero_grad()
        y = function(x)
        y.sin().sum().backward()
        return [y.detach(), *(p.grad for p in model.parameters()), *model.buffers()]

    def step(length: int) -> None:
        x = torch.randn(length, 8)
        torch._dynamo.maybe_mark_dynamic(x, 0)
        with torch.enable_grad():
            got, wanted = gradients(net, compiled, x), gradients(plain, plain, x)
        for mine, theirs in zip(got, wanted, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)

    step(6)
    assert background.wait_for_programs(_PATIENCE)
    count = len(compiler.extents)
    compiler.open.clear()
    step(40)
    step(40)
    compiler.open.set()
    assert background.wait_for_programs(_PATIENCE)
    compiler.runs.clear()
    step(40)
    assert compiler.runs
    assert any(compiler.in_background())
    assert len(compiler.extents) > count


def test_invalid_options_raise() -> None:
    with pytest.raises(Exception, match="expected 'background' or 'wait'"):
        fast(lambda x: x * 2, new_sizes="never")(torch.zeros(2))


_EXITING = """
import sys, threading, torch
from ark_mlir.pytorch import background
from ark_mlir.pytorch.backend import backend

net = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])
fast = torch.compile(net, backend=backend, options={{"target": "cpu:2", "cache": False}})
with torch.no_grad():
    x = torch.randn(5, 16)
    torch._dynamo.mark_dynamic(x, 0)
    fast(x)
    for length in (40, 100, 300, 700):
        fast(torch.randn(length, 16))
assert not background.idle()
print("unfinished", flush=True)
{end}
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_a_process_ends_while_a_thread_compiles(end: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _EXITING.format(end=end)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
    )
    assert done.stdout.splitlines() == ["unfinished"], done.stderr
    assert done.returncode == code, done.stderr
    assert ("ZeroDivisionError" in done.stderr) == ("/" in end)
    assert "_Ending" not in done.stderr


def test_calls_are_short_while_a_thread_compiles() -> None:
    """A caller never waits for a step of the compiler: passes run without Python's global lock."""
    from ark_mlir.pytorch import background

    net = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32)) for _ in range(8)])
    compiled = fast(net.eval(), cache=False)
    x = torch.randn(5, 32)
    torch._dynamo.mark_dynamic(x, 0)
    compiled(x)
    x, times = torch.randn(100, 32), []
    while not times or not background.idle():
        begin = time.perf_counter()
        y = compiled(x)
        times.append(time.perf_counter() - begin)
    torch.testing.assert_close(y, net(x), rtol=1e-4, atol=1e-4)
    assert len(times) > 3
    assert sorted(times)[len(times) // 2] < 0.25  # seconds; a compilation takes more
