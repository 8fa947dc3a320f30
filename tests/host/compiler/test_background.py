"""Compilations in a background thread: they give the same bundles and errors, end between two
steps, and do not hold Python's global lock while passes run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir._mlir_libs import _ark  # noqa: TID251 - a function of the extension
from ark_mlir.interruption import checkpoint, in_background, interruptible

_OPTIONS = {"target": "cpu:2", "cache": False}


def layers(count: int) -> ark.Program:
    with ark.Program("layers") as program:
        x = ark.input("x", (64, 64))
        for number in range(count):
            x = ark.softmax(x @ ark.parameter(f"w{number}", (64, 64)), -1)
        ark.output("y", x)
    return program


def check_nothing() -> None:
    pass


def error_of(work: Callable[[], object]) -> ark.ArkError:
    with pytest.raises(ark.ArkError) as raised:
        work()
    return raised.value


def test_a_compilation_in_the_background_gives_the_same_bundle() -> None:
    program = layers(2)
    wanted = ark.compile(program, **_OPTIONS).bundle
    with interruptible(check_nothing):
        got = ark.compile(program, **_OPTIONS).bundle
    assert got.sections == wanted.sections


def test_errors_are_the_same_in_the_background() -> None:
    program = layers(2)

    def compiling() -> None:
        ark.compile(program, **_OPTIONS, memory=64)

    wanted = error_of(compiling)
    with interruptible(check_nothing):
        got = error_of(compiling)
    assert isinstance(wanted, ark.MemoryLimitError)
    assert type(got) is type(wanted)
    assert str(got) == str(wanted)
    assert got.notes == wanted.notes
    assert wanted.notes


def test_a_pipeline_that_does_not_parse() -> None:
    with ir.Context():
        module = ir.Module.parse("module {}").operation
        with pytest.raises(ValueError, match="no-such-pass"):
            _ark.run_passes(module, "builtin.module(no-such-pass)")


def test_a_check_ends_a_compilation_between_two_steps() -> None:
    class Ended(Exception):
        pass

    calls: list[int] = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Ended

    with interruptible(check), pytest.raises(Ended):
        ark.compile(layers(1), **_OPTIONS)
    assert len(calls) == 3


def test_checks_are_those_of_the_thread() -> None:
    inside: list[bool] = []
    with interruptible(check_nothing):
        assert in_background()
        thread = threading.Thread(target=lambda: inside.append(in_background()))
        thread.start()
        thread.join()
    assert inside == [False]
    assert not in_background()
    checkpoint()  # has no effect


def test_other_threads_run_while_passes_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the lock held, no other thread would run before the end of a stage."""
    run_passes = _ark.run_passes
    spans: list[tuple[float, float]] = []

    def running(module: ir.Operation, pipeline: str) -> None:
        begin = time.perf_counter()
        run_passes(module, pipeline)
        spans.append((begin, time.perf_counter()))

    monkeypatch.setattr(_ark, "run_passes", running)

    def compiling() -> None:
        with interruptible(check_nothing):
            ark.compile(layers(48), **_OPTIONS)

    thread = threading.Thread(target=compiling)
    thread.start()
    moments: list[float] = []
    while thread.is_alive():
        moments.append(time.perf_counter())
        time.sleep(1e-4)
    thread.join()
    begin, end = max(spans, key=lambda span: span[1] - span[0])
    assert len([moment for moment in moments if begin < moment < end]) > 10
