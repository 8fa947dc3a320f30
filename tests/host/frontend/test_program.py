"""Programs: their content, their errors, and the state after an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import ark_mlir as ark
from ark_mlir import ir

HERE = __file__


def mlp() -> ark.Program:
    with ark.Program("mlp") as program:
        x = ark.input("x", (4, 64), ark.bf16)
        w = ark.parameter("w", (256, 64), ark.bf16)
        cache = ark.state("cache", (4, 256), ark.bf16, init=0.5)
        position = ark.scalar("position", max=3)
        h = ark.gelu(ark.matmul(x, w, transpose_other=True))
        ark.update(cache, h[:1], (position, 0))
        ark.output("y", h)
    return program


def test_metadata_lists_arguments_and_results() -> None:
    program = mlp()
    assert list(program.inputs) == ["x"]
    assert list(program.parameters) == ["w"]
    assert list(program.states) == ["cache"]
    assert list(program.scalars) == ["position"]
    assert program.inputs["x"].shape == (4, 64)
    assert program.inputs["x"].dtype is ark.bf16
    assert program.states["cache"].init == 0.5
    assert program.scalars["position"].max == 3
    assert program.outputs["y"].shape == (4, 256)
    assert program.outputs["y"].dtype is ark.bf16
    assert program.inputs["x"].location.startswith(HERE)


def test_module_text_parses_back_and_is_the_same() -> None:
    program = mlp()
    assert isinstance(program.module, ir.Module)
    assert str(ir.Module.parse(program.mlir, ir.Context())) == program.mlir
    assert "loc(" not in program.mlir
    for fragment in (
        "ark.program @mlp(",
        '{ark.kind = #ark.kind<input>, ark.name = "x"}',
        '{ark.init = 5.000000e-01 : f64, ark.kind = #ark.kind<state>, ark.name = "cache"}',
        '{ark.kind = #ark.kind<scalar>, ark.max = 3 : i64, ark.name = "position"}',
        '-> (tensor<4x256xbf16> {ark.name = "y"})',
    ):
        assert fragment in program.mlir


def test_building_twice_gives_the_same_text() -> None:
    assert mlp().mlir == mlp().mlir


def test_arguments_may_come_after_ops() -> None:
    with ark.Program("late") as program:
        x = ark.input("x", (4,))
        y = x + x
        z = ark.input("z", (4,))
        ark.output("y", y * z)
    assert list(program.inputs) == ["x", "z"]


def test_placeholder_is_another_name_of_input() -> None:
    with ark.Program("p") as program:
        ark.output("y", ark.placeholder("x", (3,), ark.int32))
    assert program.inputs["x"].dtype is ark.int32


def test_rank_and_world_size_are_attributes() -> None:
    with ark.Program("p", rank=1, world_size=2) as program:
        ark.output("y", ark.all_reduce(ark.input("x", (3,))))
    assert "rank = 1" in program.mlir
    assert "world_size = 2" in program.mlir


def test_only_a_state_update_is_a_program() -> None:
    with ark.Program("p") as program:
        cache = ark.state("cache", (4,))
        ark.update(cache, ark.input("x", (2,)), (1,))
    assert program.outputs == {}
    assert "ark.update" in program.mlir


def test_a_state_read_after_an_update_is_the_updated_one() -> None:
    with ark.Program("p") as program:
        cache = ark.state("cache", (4,))
        before = cache + 1
        first = ark.update(cache, ark.input("x", (2,)), (0,))
        ark.update(first, ark.input("z", (2,)), (2,))
        ark.output("before", before)
        ark.output("cache", cache)
        ark.output("first", first)
    lines = program.mlir.splitlines()
    updates = [line for line in lines if "ark.update" in line]
    last = updates[-1].split(" = ")[0].strip()
    assert updates[0].split(" = ")[0].strip() in updates[1]
    assert f"{last}, {last} :" in next(line for line in lines if "ark.return" in line)


def test_empty_program_is_refused() -> None:
    with (
        pytest.raises(ark.InvalidUsageError, match=r"'p' has no output; call ark\.output"),
        ark.Program("p"),
    ):
        pass


def test_outside_of_a_program_is_refused() -> None:
    for call in (
        lambda: ark.input("x", (4,)),
        lambda: ark.output("y", None),
        lambda: ark.constant(1.0),
        lambda: ark.zeros((4,)),
        lambda: ark.recv((4,), ark.fp32, 0, 0),
    ):
        with pytest.raises(ark.InvalidUsageError, match=r"outside of a program; put it inside"):
            call()


def test_fill_functions_name_themselves_in_errors() -> None:
    for name in ("zeros", "ones"):
        with pytest.raises(ark.InvalidUsageError, match=rf"ark.{name}: outside of a program"):
            getattr(ark, name)((4,))
        with pytest.raises(ark.InvalidUsageError, match=rf"ark.{name}: "), ark.Program("p"):
            getattr(ark, name)((-4,))


def test_op_on_a_closed_program_is_refused() -> None:
    with ark.Program("done"):
        x = ark.input("x", (4,))
        ark.output("y", x)
    with pytest.raises(ark.InvalidUsageError, match="outside of a program"):
        x + x


def test_tensors_of_two_programs_are_refused() -> None:
    with ark.Program("first"):
        x = ark.input("x", (4,))
        ark.output("y", x)
    with ark.Program("second"):
        z = ark.input("z", (4,))
        for use in (
            lambda: x + z,
            lambda: ark.relu(x),
            lambda: ark.output("y", x),
            lambda: ark.concat([z, x], 0),
            lambda: ark.identity(z, deps=[x]),
        ):
            with pytest.raises(ark.InvalidUsageError) as caught:
                use()
            assert "'x' belongs to program 'first', which is closed, not to 'second'" in str(
                caught.value
            )
        ark.output("y", z)


def test_nested_programs_do_not_mix() -> None:
    with ark.Program("outer") as outer:
        x = ark.input("x", (4,))
        with ark.Program("inner") as inner:
            ark.output("y", ark.input("x", (2,)) * 2)
        ark.output("y", x + 1)
    assert inner.inputs["x"].shape == (2,)
    assert outer.inputs["x"].shape == (4,)


def test_a_program_is_built_once() -> None:
    program = mlp()
    with pytest.raises(ark.InvalidUsageError, match="was built before"), program:
        pass


def test_module_of_an_open_or_broken_program_is_refused() -> None:
    program = ark.Program("p")
    with pytest.raises(ark.InvalidUsageError, match="'p' is empty"):
        _ = program.module

    def fail() -> None:
        with program:
            with pytest.raises(ark.InvalidUsageError, match="'p' is open"):
                _ = program.mlir
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fail()
    with pytest.raises(ark.InvalidUsageError, match="'p' was not completed"):
        _ = program.module


def test_an_exception_in_the_block_leaves_no_program_behind() -> None:
    with pytest.raises(RuntimeError), ark.Program("p"):
        raise RuntimeError
    with pytest.raises(ark.InvalidUsageError, match="outside of a program"):
        ark.input("x", (4,))


def test_a_refused_op_leaves_the_program_usable() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4, 8))
        with pytest.raises(ark.InvalidUsageError):
            ark.matmul(x, x)
        with pytest.raises(ark.InvalidUsageError):
            ark.exp(ark.cast(x, ark.int32))
        ark.output("y", x + 1)
    assert "ark.matmul" not in program.mlir
    assert "ark.exp" not in program.mlir


@pytest.mark.parametrize("name", ["", None, 3, "a\nb"])
def test_bad_names_are_refused(name: object) -> None:
    with pytest.raises(ark.InvalidUsageError, match="must be a printable, non-empty string"):
        ark.Program(name)  # type: ignore[arg-type]
    with ark.Program("p"):
        with pytest.raises(ark.InvalidUsageError, match="an argument's name"):
            ark.input(name, (4,))  # type: ignore[arg-type]
        with pytest.raises(ark.InvalidUsageError, match="an output's name"):
            ark.output(name, ark.input("x", (4,)))  # type: ignore[arg-type]
        ark.output("y", ark.input("z", (4,)))


def test_names_in_use_are_refused_with_both_lines() -> None:
    with ark.Program("p"):
        x = ark.input("x", (4,))
        with pytest.raises(ark.InvalidUsageError, match="parameter 'x': the name is taken") as e:
            ark.parameter("x", (4,))
        assert HERE in e.value.notes[0]
        ark.output("y", x)
        with pytest.raises(ark.InvalidUsageError, match="output 'y' exists already"):
            ark.output("y", x)


@pytest.mark.parametrize(
    ("rank", "world", "message"),
    [
        (1, None, "rank is 1 and world_size is None"),
        (None, 2, "rank is None and world_size is 2"),
        (2, 2, r"rank 2 is not in \[0, 2\)"),
        (-1, 2, r"rank -1 is not in \[0, 2\)"),
        (0.5, 2, "rank must be an integer"),
    ],
)
def test_bad_ranks_are_refused(rank: object, world: object, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.Program("p", rank=rank, world_size=world)  # type: ignore[arg-type]


def test_the_number_of_ranks_is_limited() -> None:
    with (
        pytest.raises(ark.InvalidUsageError, match=r"expected 1 to 65536 \(program_c7\)"),
        ark.Program("p", rank=0, world_size=2**31 - 1),
    ):
        ark.output("y", ark.relu(ark.input("x", (4,))))


def test_threads_build_programs_of_their_own(in_threads: Callable[..., None]) -> None:
    programs: list[ark.Program] = []

    def build(number: int) -> None:
        with ark.Program(f"p{number}") as program:
            x = ark.input("x", (number + 1,))
            for _ in range(20):
                x = x + number
            ark.output("y", x)
        programs.append(program)

    in_threads(*(partial(build, number) for number in range(4)))
    assert sorted(p.outputs["y"].shape for p in programs) == [(1,), (2,), (3,), (4,)]


def test_a_model_of_many_ops_is_built_quickly() -> None:
    with ark.Program("deep") as program:
        x = ark.input("x", (4, 4))
        for layer in range(1000):
            x = x @ ark.parameter(f"w{layer}", (4, 4)) + 1
        ark.output("y", x)
    assert len(program.parameters) == 1000


def test_mean_is_another_name_of_reduce_mean() -> None:
    def text(op: Callable[..., ark.Tensor]) -> str:
        with ark.Program("p") as program:
            ark.output("y", op(ark.input("x", (3, 4), ark.int32), axis=-1, keepdims=False))
        return program.mlir

    assert text(ark.mean) == text(ark.reduce_mean)


def test_noop_returns_nothing_and_needs_a_tensor() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (3,))
        assert ark.noop(ark.exp(x)) is None
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.noop"):
            ark.noop("x")  # type: ignore[arg-type]
        ark.output("y", x + 1)
    assert program.mlir.count("ark.noop") == 1


def test_a_noop_alone_is_no_program() -> None:
    with pytest.raises(ark.InvalidUsageError, match="has no output"), ark.Program("p"):
        ark.noop(ark.input("x", (3,)))
