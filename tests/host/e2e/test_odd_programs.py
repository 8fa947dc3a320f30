"""Unusual but valid programs give the interpreter's result."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from small_programs import Agree, Arrays, Body, Pick, build, random

import ark_mlir as ark

NAMES = ["ä x", "a.b", "a/b", "1", "日本", 'a"b', "a\\b", "%x", "self", "iterations", "a" * 500]


# -- shapes ---------------------------------------------------------------------------------------


def test_rank_zero(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (), ark.fp32)
        ark.output("y", ark.exp(x) * 2.0)
        v = ark.input("v", (4, 8), ark.fp32)
        ark.output("sum", ark.reduce_sum(v, axis=(0, 1), keepdims=False))
        ark.output("scaled", v * x)

    agree(build(body), {"x": np.array(0.5, np.float32), "v": random(4, 8)})


def test_rank_six(agree: Agree) -> None:
    shape = (2, 3, 2, 3, 2, 5)

    def body() -> None:
        x = ark.input("x", shape, ark.fp32)
        ark.output("bias", ark.gelu(x) + ark.input("b", (5,), ark.fp32))
        ark.output("last", ark.softmax(x, axis=-1))
        ark.output("middle", ark.softmax(x, axis=2))
        ark.output("turned", ark.transpose(x, (5, 4, 3, 2, 1, 0)))
        ark.output("summed", ark.reduce_sum(x, axis=(1, 3)))
        ark.output("product", ark.matmul(x, ark.input("w", (5, 7), ark.fp32)))

    agree(build(body), {"x": random(*shape), "b": random(5), "w": random(5, 7)})


def test_concatenation_of_a_concatenation(agree: Agree) -> None:
    """A part of the result is also the operand of an op of the same task."""

    def body() -> None:
        x, y = (ark.input(name, (64, 16), ark.fp32) for name in "xy")
        both = ark.concat([x, ark.relu(y)], 1)
        ark.output("z", ark.concat([both, ark.exp(both)], 1))

    agree(build(body), {"x": random(64, 16), "y": random(64, 16)})


def test_a_large_concatenation_of_uneven_parts(agree: Agree) -> None:
    """The check of the fill does not count two million elements one by one."""

    def body() -> None:
        parts = [ark.input("a", (699051,)), ark.input("b", (1398101,))]
        ark.output("y", ark.concat(parts, 0) * 2.0)

    agree(build(body), {"a": random(699051), "b": random(1398101)})


def test_concatenations_with_equal_first_parts(agree: Agree) -> None:
    """Two of the parts may be equal, as in the derivative of slices with a step."""

    def body() -> None:
        x, y = (ark.input(name, (8, 3), ark.fp32) for name in "xy")
        zeros = ark.zeros((8, 1))
        ark.output("z", ark.concat([zeros, x], 1) * ark.concat([zeros, y], 1))
        ends = [ark.concat([zeros, x, last], 1) for last in (zeros, ark.exp(zeros))]
        ark.output("w", ends[0] + ends[1] * 2.0)

    agree(build(body), {"x": random(8, 3), "y": random(8, 3)})


ZERO: dict[str, tuple[Body, Arrays]] = {
    "elementwise": (
        lambda: ark.output("y", ark.input("x", (0, 4), ark.fp32) + 1.0),
        {"x": random(0, 4)},
    ),
    "softmax": (
        lambda: ark.output("y", ark.softmax(ark.input("x", (0, 8), ark.fp32))),
        {"x": random(0, 8)},
    ),
    "matmul": (
        lambda: ark.output(
            "y", ark.matmul(ark.input("x", (4, 0), ark.fp32), ark.input("w", (0, 5), ark.fp32))
        ),
        {"x": random(4, 0), "w": random(0, 5)},
    ),
    "sum": (
        lambda: ark.output("y", ark.reduce_sum(ark.input("x", (4, 0), ark.fp32), axis=1)),
        {"x": random(4, 0)},
    ),
    "empty matmul": (
        lambda: ark.output(
            "y", ark.matmul(ark.input("x", (0, 4), ark.fp32), ark.input("w", (4, 0), ark.fp32))
        ),
        {"x": random(0, 4), "w": random(4, 0)},
    ),
    "transpose": (
        lambda: ark.output("y", ark.transpose(ark.input("x", (0, 4), ark.fp32))),
        {"x": random(0, 4)},
    ),
    "attention": (
        lambda: ark.output(
            "y",
            ark.attention(
                ark.input("q", (2, 0, 4), ark.fp32),
                ark.input("k", (2, 0, 4), ark.fp32),
                ark.input("v", (2, 0, 4), ark.fp32),
            ),
        ),
        {name: random(2, 0, 4) for name in "qkv"},
    ),
    "embedding": (
        lambda: ark.output(
            "y", ark.embedding(ark.input("i", (0,), ark.int32), ark.input("w", (3, 4), ark.fp32))
        ),
        {"i": np.zeros(0, np.int32), "w": random(3, 4)},
    ),
    "constant": (lambda: ark.output("y", ark.zeros((3, 0), ark.bf16)), {}),
}


@pytest.mark.parametrize("name", ZERO)
def test_zero_elements(name: str, agree: Agree) -> None:
    body, inputs = ZERO[name]
    agree(build(body), inputs)


def test_zero_elements_beside_others(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (0, 8), ark.fp32)
        ark.output("y", ark.concat([x, ark.input("z", (3, 8), ark.fp32)], axis=0))

    agree(build(body), {"x": random(0, 8), "z": random(3, 8)})


def test_zero_elements_on_several_lanes(pick_target: Pick) -> None:
    """Tensors without bytes are no hazard, however many lanes write them."""
    with ark.Program("empty") as program:
        a, b = ark.input("a", (3, 3, 33, 1)), ark.input("b", (3, 3, 1, 0))
        ark.output("y", ark.matmul(a, b))
    executable = ark.compile(program, target=pick_target("cpu:2"), scheduler="round-robin")
    assert executable.report().lanes >= 2
    arrays = {"a": np.ones((3, 3, 33, 1), np.float32), "b": np.ones((3, 3, 1, 0), np.float32)}
    assert executable.run(arrays)["y"].shape == (3, 3, 33, 0)


def test_a_program_without_tasks(tmp_path: Path, pick_target: Pick) -> None:
    """A program without tasks compiles, runs, and keeps its states."""

    def body() -> None:
        state = ark.state("s", (3, 4), ark.fp32, init=2)
        ark.update(state, ark.input("x", (0, 4), ark.fp32), [0, 0])

    with ark.compile(build(body), target=pick_target("cpu:2")) as executable:
        assert executable.run(x=random(0, 4), iterations=3) == {}
        assert (executable.states["s"] == 2).all()
        assert "tasks" in str(executable.report())
        executable.save(tmp_path / "nothing.arkbin")
    with ark.load(tmp_path / "nothing.arkbin") as executable:
        assert executable.run(x=random(0, 4)) == {}
    with ark.compile(
        "ark.program @nothing() { ark.return }\n", target=pick_target("cpu:1")
    ) as executable:
        assert executable.run() == {}


@contextlib.contextmanager
def at_most_addresses(count: int) -> Iterator[None]:
    """Limits the address space, since some systems overcommit memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_a_tensor_larger_than_memory(tmp_path: Path) -> None:
    """A program may have a tensor of 64 TiB; running it raises one error."""

    def body() -> None:
        x = ark.parameter("x", (2**44,), ark.fp32)
        ark.output("y", ark.slice(x, [0], [4]) + 1.0)

    with ark.compile(build(body), target="cpu:1") as executable:
        assert "64 TiB" in str(executable.report())
        with (
            at_most_addresses(2**45),
            pytest.raises(ark.DeviceError, match="no memory for 70368744177664 bytes"),
        ):
            executable.bind({"x": np.broadcast_to(np.float32(1), (2**44,))})


# -- inputs and outputs ---------------------------------------------------------------------------


def test_outputs_twice(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (4, 8), ark.fp32)
        y = x * 2.0
        ark.output("a", y)
        ark.output("b", y)
        ark.output("c", ark.exp(y))

    agree(build(body), {"x": random(4, 8)})


def test_outputs_that_are_used_further(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (8, 4), ark.fp32)
        h = ark.matmul(x, ark.input("w", (4, 4), ark.fp32))
        ark.output("h", h)
        ark.output("y", ark.relu(h))
        ark.output("z", ark.reduce_sum(ark.relu(h), axis=0))

    agree(build(body), {"x": random(8, 4), "w": random(4, 4)})


def test_outputs_that_are_inputs(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (4, 8), ark.fp32)
        w = ark.parameter("w", (4, 8), ark.fp32)
        ark.output("x", x)  # also with an equal name
        ark.output("again", x)
        ark.output("turned", ark.transpose(x, (1, 0)))
        ark.output("flat", ark.reshape(x, (-1,)))
        ark.output("w", w)

    agree(build(body), {"x": random(4, 8)}, {"w": random(4, 8) + 1})


def test_an_output_that_is_a_state(pick_target: Pick) -> None:
    program = build(lambda: ark.output("y", ark.state("s", (4,), ark.fp32, init=3)))
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        assert executable.run()["y"].tolist() == [3, 3, 3, 3]


def test_unused_inputs(agree: Agree) -> None:
    def body() -> None:
        x = ark.input("x", (4, 8), ark.fp32)
        ark.input("u", (3,), ark.int32)
        ark.parameter("v", (3,), ark.bf16)
        ark.output("y", x * 2.0)

    program = build(body)
    unused = {"v": np.ones(3, np.float32).astype(ark.bf16.numpy)}
    agree(program, {"x": random(4, 8), "u": np.ones(3, np.int32)}, unused)
    with (
        ark.compile(program, target="cpu:1").bind(unused) as executable,
        pytest.raises(ark.InvalidUsageError, match="input 'u' is missing"),
    ):
        executable.run(x=random(4, 8))


def test_constants_only(agree: Agree) -> None:
    def body() -> None:
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        ark.output("product", ark.constant(values, ark.fp32) * ark.full((3, 4), 2.0, ark.fp32))
        ark.output("values", ark.constant(values, ark.fp32))
        ark.output("zeros", ark.zeros((5,), ark.int32))
        ark.output("numbers", ark.arange(0, 7))

    agree(build(body), {})


# -- sizes of programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["elementwise", "matmul"])
def test_deep_chains(op: str, agree: Agree) -> None:
    w = np.linalg.qr(random(16, 16))[0].astype(np.float32)

    def body() -> None:
        y = ark.input("x", (8, 16), ark.fp32)
        weight = ark.parameter("w", (16, 16), ark.fp32)
        for i in range(500):
            if op == "matmul":
                y = ark.matmul(y, weight)
            else:
                y = y * 1.01 + 0.001 if i % 2 else ark.tanh(y)
        ark.output("y", y)

    agree(build(body), {"x": random(8, 16)}, {"w": w})


def test_many_inputs_and_outputs(agree: Agree) -> None:
    def body() -> None:
        total = ark.zeros((8, 16), ark.fp32)
        for i in range(60):
            total = total + ark.input(f"x{i}", (8, 16), ark.fp32)
            ark.output(f"y{i}", total)

    agree(build(body), {f"x{i}": random(8, 16) for i in range(60)})


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers(workers: int, agree: Agree) -> None:
    """More workers than cores, and more workers than vCTAs."""

    def body() -> None:
        x = ark.input("x", (33, 50), ark.fp32)
        w = ark.parameter("w", (50, 70), ark.fp32)
        ark.output("y", ark.softmax(ark.matmul(x, w)))

    program = build(body)
    arrays = {"x": random(33, 50)}, {"w": random(50, 70)}
    agree(program, *arrays, target=f"cpu:{workers}")
    agree(build(lambda: ark.output("y", ark.exp(ark.input("x", (1,), ark.fp32)))), {"x": random(1)})


# -- names and files ------------------------------------------------------------------------------


def test_odd_names(tmp_path: Path, agree: Agree) -> None:
    """Unusual names of inputs, outputs, ops and programs, through text and bundles."""

    def body() -> None:
        for name in NAMES:
            x = ark.input(name, (4, 4), ark.fp32)
            ark.output(name, ark.matmul(x, x, name=name))

    inputs = {name: random(4, 4) + i for i, name in enumerate(NAMES)}
    program = build(body, "größe 日本")
    agree(program, inputs)
    agree(program.mlir, inputs)
    path = tmp_path / "größe ☃.mlir"
    path.write_text(program.mlir, encoding="utf-8")
    agree(path, inputs)
    with ark.compile(path, target="cpu:1") as executable:
        executable.save(tmp_path / "größe ☃.arkbin")
        expected = executable.run(inputs)
    with ark.load(tmp_path / "größe ☃.arkbin") as executable:
        assert executable.name == "größe 日本"
        got = executable.run(inputs)
    assert all(np.array_equal(got[name], expected[name]) for name in NAMES)


@pytest.mark.parametrize("name", ["", "x\n", "\0", "a\0b", "\u202e", "\ud800"])
def test_names_that_cannot_be_printed(name: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"test_odd_programs.py:\d+: a program's name"):
        ark.Program(name)


@pytest.mark.parametrize(
    "name",
    [
        "a", "end", "up", "a.1", "x", "matmul_2", "main", "memcpy", "expf", "body_matmul",
        "ark_kernel", "ark_execute_work_item", "ark_wait", "nanosleep",
    ],
)  # fmt: skip
def test_names_that_the_compiler_uses_itself(name: str, agree: Agree) -> None:
    def body() -> None:
        x = y = ark.input(name, (4, 4), ark.fp32)
        for _ in range(3):
            y = ark.matmul(y, x, name=name)
        ark.output(name, ark.softmax(y, name=name))

    agree(build(body, name), {name: random(4, 4)})


@pytest.mark.parametrize("after", ["tensor", "view"])
def test_a_dependence_moves_no_bytes(after: str, agree: Agree) -> None:
    """A dependence orders tasks and reads no bytes."""

    def body(depends: bool) -> None:
        x, z = ark.input("x", (4, 8), ark.fp32), ark.input("z", (64, 64), ark.fp32)
        first = ark.exp(z)
        ark.output("z", first)
        dep = ark.transpose(first, (1, 0)) if after == "view" else first
        ark.output("y", ark.tanh(ark.identity(x, deps=(dep,) if depends else ())))

    programs = [build(lambda depends=depends: body(depends)) for depends in (False, True)]
    for program in programs:
        agree(program, {"x": random(4, 8), "z": random(64, 64)})
    plain, ordered = (ark.compile(program, target="cpu:2").report() for program in programs)
    assert plain.traffic_bytes == ordered.traffic_bytes
    assert ordered.waits + ordered.barriers >= plain.waits + plain.barriers
