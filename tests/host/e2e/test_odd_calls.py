"""Unusual but valid orders of calls and uses of files give the interpreter's result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from small_programs import Agree, Pick, build, random

import ark_mlir as ark


@pytest.fixture(scope="module")
def program() -> ark.Program:
    """``y = x w``."""

    def body() -> None:
        x = ark.input("x", (64, 64), ark.fp32)
        ark.output("y", ark.matmul(x, ark.parameter("w", (64, 64), ark.fp32)))

    return build(body, "product")


def test_compiling_twice_gives_the_same(program: ark.Program, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ark.compile(program, target="cpu:2").save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_running_before_and_after_binding(program: ark.Program, pick_target: Pick) -> None:
    x, w = random(64, 64), random(64, 64) + 1
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        with pytest.raises(ark.InvalidUsageError, match="parameter 'w' is not bound"):
            executable.run(x=x)
        for scale in (1, 2, -1):
            executable.bind({"w": scale * w})
            for _ in range(2):
                np.testing.assert_allclose(
                    executable.run(x=x)["y"], x @ (scale * w), rtol=1e-4, atol=1e-4
                )
    with pytest.raises(ark.InvalidUsageError, match="the executable 'product' is closed"):
        executable.run(x=x)


def test_two_executables_from_two_threads_each(
    program: ark.Program, in_threads: Callable[..., None], pick_target: Pick
) -> None:
    w = random(64, 64)
    first = ark.compile(program, target=pick_target("cpu:2")).bind({"w": w})
    second = ark.compile(program, target=pick_target("cpu:3")).bind({"w": 2 * w})

    def use(executable: ark.Executable, scale: float) -> None:
        for i in range(10):
            x = random(64, 64) * (i + 1)
            got = executable.run(x=x)["y"]
            np.testing.assert_allclose(got, x @ (scale * w), rtol=1e-3, atol=1e-2)

    with first, second:
        in_threads(*[lambda: use(first, 1), lambda: use(second, 2)] * 2)


def test_compiling_in_several_threads(
    program: ark.Program, in_threads: Callable[..., None], agree: Agree
) -> None:
    """Threads compile separate programs, and one common program."""

    def work(width: int) -> None:
        def body() -> None:
            x = ark.input("x", (8, 16), ark.fp32)
            w = ark.input("w", (16, width), ark.fp32)
            ark.output("y", ark.softmax(ark.matmul(x, w)))

        agree(build(body), {"x": random(8, 16), "w": random(16, width)})
        ark.compile(program, target="cpu:2")

    in_threads(*[lambda width=width: work(width) for width in (16, 17, 18)])


def test_states_scalars_and_iterations(pick_target: Pick) -> None:
    def body() -> None:
        cache = ark.state("cache", (8, 4), ark.fp32)
        at = ark.scalar("at", max=7)
        cache = ark.update(cache, ark.input("x", (1, 4), ark.fp32), [at, 0])
        ark.output("sum", ark.reduce_sum(cache, axis=0))

    with ark.compile(build(body), target=pick_target("cpu:2")) as executable:
        x = total = np.zeros((1, 4), np.float32)
        for at in range(8):
            x = random(1, 4) + at
            total = total + x
            got = executable.run(x=x, at=at, iterations=at + 1)["sum"]
            np.testing.assert_allclose(got, total, rtol=1e-5)
        assert executable.states["cache"].any()
        for wrong in (8, -1, 2**40, 1.5, "1", None, True):
            with pytest.raises(ark.InvalidUsageError, match="scalar 'at' "):
                executable.run(x=x, at=wrong)
        for count in (0, -1, 1.5, True, None, 2**32, 2**70, "3"):
            with pytest.raises(ark.InvalidUsageError, match="must be a positive integer"):
                executable.run(x=x, at=0, iterations=count)  # type: ignore[arg-type]
        executable.reset()
        assert not executable.states["cache"].any()


def test_files_that_cannot_be_written(program: ark.Program, tmp_path: Path) -> None:
    executable = ark.compile(program, target="cpu:1")
    for path, kind in {"no/a.arkbin": FileNotFoundError, ".": IsADirectoryError}.items():
        with pytest.raises(kind) as caught:
            executable.save(tmp_path / path)
        assert caught.value.filename == str(tmp_path / path)
    assert list(tmp_path.iterdir()) == []


def test_files_that_do_not_fit_the_disk(
    program: ark.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    executable = ark.compile(program, target="cpu:1")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="No space left") as caught:
            executable.save(tmp_path / "a.arkbin")
    assert caught.value.filename == str(tmp_path / "a.arkbin")
    assert list(tmp_path.iterdir()) == []
