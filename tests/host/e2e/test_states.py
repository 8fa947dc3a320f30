"""States keep the values of updates over the iterations of a run and over runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from state_bodies import (
    COLUMNS,
    LONG,
    OVER_RUNS,
    UPDATES,
    WIDE,
    next_rows,
    random,
    read_several_times,
    same_box,
    same_rows,
)

import ark_mlir as ark

Pick = Callable[[str], str]


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
    """Views of a state that is 1, then 5, then 7: each view is taken before an update and read
    after both."""
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
def test_a_view_keeps_the_values_from_before_the_update(name: str, pick_target: Pick) -> None:
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
        with pytest.raises(ark.InvalidUsageError, match=r"which .slice. is not"):
            ark.update(s[:], ark.full((4,), 5.0), (0,))
        ark.output("y", s + 0)


# -- ops in the task of an update ---------------------------------------------------------------


@pytest.mark.parametrize("sms", [1, 4])
@pytest.mark.parametrize("body", UPDATES)
def test_ops_that_an_update_includes(body: Callable[[], None], sms: int, pick_target: Pick) -> None:
    with ark.Program("updates") as program:
        body()
    check_over_runs(program, pick_target(f"cpu:{sms}"), (LONG, WIDE))


@pytest.mark.parametrize(
    ("body", "tasks"), [(read_several_times, 1), (same_rows, 2), (same_box, 2), (next_rows, 3)]
)
def test_updates_that_are_one_task(body: Callable[[], None], tasks: int) -> None:
    """The update is one task, with another task for the output if their tiles differ, or for an op
    that reads elements of other vCTAs."""
    with ark.Program("updates") as program:
        body()
    with ark.compile(program, target="cpu:4") as executable:
        assert executable.report().tasks == tasks


def test_a_body_that_writes_before_it_reads() -> None:
    """Handwritten: the temporary in the memory of the state must not be overwritten before it is
    read."""
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
