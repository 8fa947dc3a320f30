"""Bodies of programs that read and update states."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark

Array = np.ndarray[Any, Any]
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
    """Updates rows with the values of the rows beside them; read and written rows overlap."""
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


OVER_RUNS = {
    replaced: ROWS,
    accumulated: ROWS,
    read_before_and_after: ROWS,
    shifted: 1,
    transposed_into_itself: 1,
    gram: ROWS,
    one_number: 1,
}


# -- ops in the task of an update -----------------------------------------------------------------

# Large enough for several vCTAs, each of which must not read what another one writes.
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
# All bodies, with the shape of their input.
BODIES = {
    **{body.__name__: (body, (rows, COLUMNS)) for body, rows in OVER_RUNS.items()},
    **{body.__name__: (body, (LONG, WIDE)) for body in UPDATES},
}
