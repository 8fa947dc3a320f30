"""States keep what updates write, over the iterations of a run and over runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
ROWS, COLUMNS = 6, 17


def state() -> ark.Tensor:
    return ark.state("s", (ROWS, COLUMNS), ark.fp32)


def row() -> ark.Tensor:
    return ark.input("x", (1, COLUMNS), ark.fp32)


def whole() -> ark.Tensor:
    return ark.input("x", (ROWS, COLUMNS), ark.fp32)


def replaced() -> None:
    ark.update(state(), whole(), (0, 0))


def accumulated() -> None:
    s = state()
    ark.output("y", ark.update(s, s * 0.5 + whole(), (0, 0)))


def read_before_and_after() -> None:
    s = state()
    old = s * 1.0
    turned = ark.transpose(ark.reshape(old + whole(), (COLUMNS, ROWS)), (1, 0))
    ark.output("old", old)
    ark.output("y", ark.update(s, turned, (0, 0)))


def shifted() -> None:
    """What is written overlaps what is read, one row further."""
    s = state()
    s = ark.update(s, ark.slice(s, (0, 0), (ROWS - 1, COLUMNS)), (1, 0))
    ark.output("y", ark.update(s, row(), (0, 0)))


def transposed_into_itself() -> None:
    s = ark.state("s", (COLUMNS, COLUMNS), ark.fp32)
    s = ark.update(s, ark.transpose(s, (1, 0)), (0, 0))
    ark.output("y", ark.update(s, row(), (3, 0)))


def gram() -> None:
    s = state()
    s = ark.update(s, s + whole(), (0, 0))
    ark.output("y", ark.matmul(ark.transpose(s, (1, 0)), s))


def one_number() -> None:
    s = ark.state("s", (), ark.fp32)
    ark.output("y", ark.update(s, s * 0.5 + ark.reduce_sum(row(), (0, 1), keepdims=False), ()))


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def check_over_runs(program: ark.Program, target: str, shape: tuple[int, ...]) -> None:
    states: dict[str, Any] = {}
    with ark.compile(program, target=target) as executable:
        for run in range(3):
            x = random(*shape) + run
            expected = ark.reference.evaluate(program, {"x": x}, states)
            states = dict(expected.states)
            got = executable.run(x=x)
            for name, value in expected.outputs.items():
                np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5)
            for name, value in states.items():
                np.testing.assert_allclose(executable.states[name], value, rtol=1e-4, atol=1e-5)


OVER_RUNS = {
    replaced: ROWS,
    accumulated: ROWS,
    read_before_and_after: ROWS,
    shifted: 1,
    transposed_into_itself: 1,
    gram: ROWS,
    one_number: 1,
}


@pytest.mark.parametrize("sms", [1, 2, 5])
@pytest.mark.parametrize(("body", "rows"), OVER_RUNS.items(), ids=[b.__name__ for b in OVER_RUNS])
def test_states_over_runs(body: Callable[[], None], rows: int, sms: int, pick_target: Pick) -> None:
    with ark.Program("states") as program:
        body()
    check_over_runs(program, pick_target(f"cpu:{sms}"), (rows, COLUMNS))


# -- views --------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[ark.Tensor], ark.Tensor]] = {
    "s[:]": lambda s: s[:],
    "s[...]": lambda s: s[...],
    "s[()]": lambda s: s[()],
    "s[0:4]": lambda s: s[0:4],
    "s[0:3]": lambda s: s[0:3],
    "s[::-1]": lambda s: s[::-1],
    "s[None]": lambda s: s[None],
    "slice": lambda s: ark.slice(s, [0], [4]),
    "reshape": lambda s: ark.reshape(s, (4,)),
    "squeeze": ark.squeeze,
    "transpose": lambda s: ark.transpose(s, (0,)),
    "identity": ark.identity,
    "split": lambda s: ark.split(s, 1, 0)[0],
    "broadcast_to": lambda s: ark.broadcast_to(s, (4,)),
    "concat": lambda s: ark.concat([s], 0),
}


def viewed(chosen: dict[str, Callable[[ark.Tensor], ark.Tensor]]) -> ark.Program:
    """Views of a state that is 1, then 5, then 7: one taken before each update, read after both."""
    with ark.Program("views") as program:
        s = ark.state("s", (4,), ark.fp32, init=1)
        taken = {f"{name} of 1": view(s) for name, view in chosen.items()}
        s = ark.update(s, ark.full((4,), 5.0), (0,))
        taken |= {f"{name} of 5": view(s) for name, view in chosen.items()}
        ark.update(s, ark.full((4,), 7.0), (0,))
        taken |= {f"{name} of 7": view(s) for name, view in chosen.items()}
        for name, view in taken.items():
            ark.output(name, view)
            ark.output(f"{name}, plus 0", view + 0)
    return program


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_keeps_the_values_of_its_moment(name: str, pick_target: Pick) -> None:
    check_views(viewed({name: VIEWS[name]}), pick_target("cpu:2"))


def test_views_of_all_kinds_together(pick_target: Pick) -> None:
    check_views(viewed(VIEWS), pick_target("cpu:2"))


def check_views(program: ark.Program, target: str) -> None:
    with ark.compile(program, target=target) as executable:
        for outputs in (ark.reference.run(program, {}), executable.run()):
            for output, value in outputs.items():
                expected = int(output.partition(" of ")[2][0])
                np.testing.assert_array_equal(np.unique(value), [expected], output)


def test_the_state_itself_shows_later_updates() -> None:
    with ark.Program("state") as program:
        s = ark.state("s", (4,), ark.fp32, init=1)
        updated = ark.update(s, ark.full((4,), 5.0), (0,))
        ark.update(s, ark.full((4,), 7.0), (0,))
        ark.output("first", s + 0)
        ark.output("second", updated + 0)
    for value in ark.reference.run(program, {}).values():
        np.testing.assert_array_equal(value, np.full(4, 7.0))


def test_a_view_of_a_state_cannot_be_updated() -> None:
    with ark.Program("view"):
        s = ark.state("s", (4,), ark.fp32)
        with pytest.raises(ark.InvalidUsageError, match="is not a state"):
            ark.update(s[:], ark.full((4,), 5.0), (0,))
        ark.output("y", s + 0)


# -- what an update computes by itself ------------------------------------------------------------

# Large enough for several vCTAs, each of which must read nothing that another one writes.
LONG, WIDE = 64, 48


def large() -> tuple[ark.Tensor, ark.Tensor]:
    return ark.state("s", (LONG, WIDE), ark.fp32), ark.input("x", (LONG, WIDE), ark.fp32)


def rows_of(x: ark.Tensor, begin: int, end: int) -> ark.Tensor:
    return ark.slice(x, (begin, 0), (end, WIDE))


def read_several_times() -> None:
    """Ops before the last one read the state, and so does the last one."""
    s, x = large()
    t = s + x
    ark.output("y", ark.update(s, ark.exp(t * 0.01) * s - ark.tanh(t), (0, 0)))


def same_rows() -> None:
    s, x = large()
    ark.output("y", ark.update(s, rows_of(s, 8, 40) * 0.5 + rows_of(x, 0, 32), (8, 0)))


def next_rows() -> None:
    s, x = large()
    ark.output("y", ark.update(s, rows_of(s, 9, 41) * 0.5 + rows_of(x, 0, 32), (8, 0)))


def same_box() -> None:
    s, x = large()
    part, new = (ark.slice(t, (8, 5), (40, 30)) for t in (s, x))
    ark.output("y", ark.update(s, ark.tanh(part) * new + part, (8, 5)))


def every_other_row() -> None:
    s, x = large()
    part = ark.slice(s, (0, 0), (LONG, WIDE), (2, 1))
    ark.output("y", ark.update(s, part * 0.5 + rows_of(x, 0, LONG // 2), (0, 0)))


def transposed_and_not() -> None:
    s, x = ark.state("s", (WIDE, WIDE), ark.fp32), ark.input("x", (LONG, WIDE), ark.fp32)
    mixed = ark.transpose(s, (1, 0)) * 0.5 + s * 0.25 + rows_of(x, 0, WIDE)
    ark.output("y", ark.update(s, mixed, (0, 0)))


def reshaped() -> None:
    s, x = large()
    turned = ark.reshape(ark.reshape(s, (WIDE, LONG)) * 0.5, (LONG, WIDE))
    ark.output("y", ark.update(s, turned + x, (0, 0)))


def one_row_for_all() -> None:
    s, x = large()
    ark.output("y", ark.update(s, rows_of(s, 3, 4) * 0.5 + x, (0, 0)))


def with_its_mean() -> None:
    s, x = large()
    ark.output("y", ark.update(s, s * 0.5 + ark.reduce_mean(s, 1, keepdims=True) + x, (0, 0)))


def one_after_the_other() -> None:
    s, x = large()
    first = ark.update(s, s + x, (0, 0))
    ark.output("y", ark.update(first, first * 0.5, (0, 0)))


def depended_on_before_another() -> None:
    s, x = large()
    first = ark.update(s, s + x, (0, 0))
    later = ark.identity(x, deps=(first,))
    second = ark.update(first, first * 0.5, (0, 0))
    ark.output("y", ark.relu(later))
    ark.output("z", second * 1.0)


def after_itself() -> None:
    s, x = large()
    old = ark.identity(s, deps=(s,))
    new = ark.update(s, s + x, (0, 0))
    ark.output("y", old * 1.0 + x)
    ark.output("z", new * 1.0)


UPDATES = (
    read_several_times,
    same_rows,
    next_rows,
    same_box,
    every_other_row,
    transposed_and_not,
    reshaped,
    one_row_for_all,
    with_its_mean,
    one_after_the_other,
    depended_on_before_another,
    after_itself,
)
# All of them, with the shape of their input: tests/gpu/export.py takes them from here.
BODIES = {
    **{body.__name__: (body, (rows, COLUMNS)) for body, rows in OVER_RUNS.items()},
    **{body.__name__: (body, (LONG, WIDE)) for body in UPDATES},
}


@pytest.mark.parametrize("sms", [1, 4])
@pytest.mark.parametrize("body", UPDATES)
def test_what_goes_into_an_update(body: Callable[[], None], sms: int, pick_target: Pick) -> None:
    with ark.Program("updates") as program:
        body()
    check_over_runs(program, pick_target(f"cpu:{sms}"), (LONG, WIDE))


@pytest.mark.parametrize(
    ("body", "tasks"), [(read_several_times, 1), (same_rows, 2), (same_box, 2), (next_rows, 3)]
)
def test_updates_that_are_one_task(body: Callable[[], None], tasks: int) -> None:
    """One task, and one for the output where their tiles differ; another one where the update
    reads what it must not."""
    with ark.Program("updates") as program:
        body()
    with ark.compile(program, target="cpu:4") as executable:
        assert executable.report().tasks == tasks


def test_a_body_that_writes_before_it_reads() -> None:
    """By hand: what is computed in the state's place must not be there when it is read."""
    region = "#ark.region<(d0) -> (d0 * 4), [4]>"
    tile = "tensor<4xf32>"
    text = f"""module attributes {{ark.stage = "tiling", ark.target = #ark.target<backend = cpu,
  arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 160,
  handoff = 200, barrier = 400, overhead = 50>}} {{
  ark.program @p(
      %s: tensor<12xf32> {{ark.init = 1.0 : f64, ark.kind = #ark.kind<state>, ark.name = "s"}},
      %x: tensor<8xf32> {{ark.kind = #ark.kind<input>, ark.name = "x"}}) {{
    %part = ark.slice %s starts = [4] stops = [12] steps = [1] : (tensor<12xf32>) -> tensor<8xf32>
    %0 = ark.task "t" grid [2]
        ins(%part[{region}] : tensor<8xf32>, %x[{region}] : tensor<8xf32>)
        outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : tensor<12xf32>) attributes {{in_place}} {{
    ^bb0(%i: index, %a: {tile}, %b: {tile}, %o: {tile}):
      %1 = linalg.exp ins(%b : {tile}) outs(%o : {tile}) -> {tile}
      %2 = linalg.add ins(%1, %a : {tile}, {tile}) outs(%1 : {tile}) -> {tile}
      ark.yield %2 : {tile}
    }} : tensor<12xf32>
    ark.return
  }}
}}"""
    with ark.compile(text) as executable:
        assert executable.report().tasks == 1
        expected = np.ones(12, np.float32)
        for _ in range(2):
            executable.run(x=np.ones(8, np.float32))
            expected[4:] += np.exp(np.float32(1))
            np.testing.assert_allclose(executable.states["s"], expected, rtol=1e-5)
