"""Every op has a rule or a reason; errors of ``ark.gradients`` are at the user's line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from gradient_cases import CASES, build
from op_cases import CASES as OP_CASES
from op_cases import build as build_op

import ark_mlir as ark
from ark_mlir.frontend import ops
from ark_mlir.frontend.gradients.table import INERT, REFUSED, RULES

# Functions whose only op of the dialect is in INERT or REFUSED, and that op.
WITHOUT_RULE = {
    **dict.fromkeys(
        ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"), "compare"
    ),
    **dict.fromkeys(("arange", "constant", "full", "ones", "zeros"), "constant"),
    **{
        name: name
        for name in (
            "argmax", "bitcast", "logical_and", "logical_not", "logical_or", "noop", "philox",
            "quantized_matmul", "recv", "send", "top_threshold", "update",
        )
    },
}  # fmt: skip
COLLECTIVES = {"all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter"}


def test_every_public_op_has_a_case_or_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set(COLLECTIVES)  # in test_ranks.py

    def recorded(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            called.add(name)
            return function(*arguments, **options)

        return call

    # The cases look up functions when the module is loaded, or when they are called.
    for name in ops.__all__:
        monkeypatch.setattr(ark, name, recorded(name, getattr(ark, name)))
    for case in CASES.values():
        build(case)
    named = {getattr(case.make, "__name__", "") for case in CASES.values()} | set(CASES)
    missing = set(ops.__all__) - called - named - WITHOUT_RULE.keys()
    assert missing == set(), "neither a gradient case nor a reason"
    for name, op in WITHOUT_RULE.items():
        assert f"ark.{op}" in INERT | REFUSED.keys(), name


def test_every_op_of_the_dialect_is_in_one_table() -> None:
    assert not RULES.keys() & INERT
    assert not RULES.keys() & REFUSED.keys()
    assert not INERT & REFUSED.keys()
    seen: set[str] = set()
    for case in OP_CASES.values():
        program = build_op(case, case.dtypes[-1])
        seen |= {str(op.operation.name) for op in program.operations()}
    assert len(seen) > 40
    assert seen - RULES.keys() - INERT - REFUSED.keys() == {"ark.return"}


def refuse(
    build_it: Callable[[], object], *fragments: str, error: type[Exception] = ark.InvalidUsageError
) -> None:
    """Checks the error of a function, at a line of that function."""
    with pytest.raises(error) as caught, ark.Program("refuse"):
        build_it()
    text = str(caught.value)
    lines, first = inspect.getsourcelines(build_it)
    found = re.match(rf"{re.escape(__file__)}:(\d+): ark\.gradients: ", text)
    assert found is not None, text
    assert first <= int(found[1]) < first + len(lines), text
    assert "\n" not in text
    for fragment in fragments:
        assert fragment in text, text


def test_a_loss_of_several_elements() -> None:
    def loss_is_a_vector() -> None:
        x = ark.input("x", (3,))
        ark.gradients(x * 2, [x])

    refuse(loss_is_a_vector, "'mul' must have one element, not shape [3]")


def test_integers() -> None:
    def loss_is_an_integer() -> None:
        x = ark.input("x", (3,), ark.int32)
        ark.gradients(ark.reduce_sum(x), [x])

    def source_is_an_integer() -> None:
        x = ark.input("x", (3,), ark.int32)
        ark.gradients(ark.reduce_sum(ark.cast(x, ark.fp32)), [x])

    refuse(loss_is_an_integer, "loss 'reduce_sum' must have a float dtype, not int32")
    refuse(source_is_an_integer, "wrt[0] 'x' must have a float dtype, not int32")


def test_sources_that_the_loss_does_not_reach() -> None:
    def unused() -> None:
        x, y = ark.input("x", (3,)), ark.input("y", (3,))
        ark.gradients(ark.reduce_sum(x), [x, y])

    def through_integers() -> None:
        x = ark.input("x", (3,))
        steps = ark.cast(ark.cast(x, ark.int32), ark.fp32)
        ark.gradients(ark.reduce_sum(steps), [x])

    def through_a_comparison() -> None:
        x = ark.input("x", (3,))
        ark.gradients(ark.reduce_sum(ark.where(x > 0, 1.0, 2.0)), [x])

    refuse(unused, "does not depend on wrt[1] 'y'")
    refuse(through_integers, "does not depend on wrt[0] 'x' smoothly; ark.cast passes")
    refuse(through_a_comparison, "'x' smoothly; ark.compare passes no derivative")


def test_updates() -> None:
    def past_an_update() -> None:
        x, s = ark.input("x", (3,)), ark.state("s", (3,))
        s = ark.update(s, x * 2, (0,))
        ark.gradients(ark.reduce_sum(s * s), [x])

    def behind_an_update() -> None:
        s = ark.state("s", (3,))
        loss = ark.reduce_sum(s * s)
        ark.update(s, s * 0.5, (0,))
        ark.gradients(loss, [s])

    def of_another_weight() -> None:
        s, x = ark.state("s", (3,)), ark.input("x", (3,))
        loss = ark.reduce_sum(s * x)
        ark.update(s, x, (0,))
        ark.gradients(loss, [x])

    refuse(
        past_an_update, "cannot differentiate ark.update at", "update of a state has no derivative",
        error=ark.UnsupportedError,
    )  # fmt: skip
    refuse(behind_an_update, "'s', whose update precedes ark.gradients")
    refuse(of_another_weight, "needs the value of state 's'", "before ark.update")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda x: ark.bitcast(ark.bitcast(x, ark.int32), ark.fp32), "does not depend"),
        (lambda x: ark.bitcast(x, ark.fp16), "the bits of a number have no derivative"),
        (
            lambda x: ark.top_threshold(x, ark.constant(2), ark.constant(0.5)),
            "a threshold selects",
        ),
    ],
)
def test_ops_without_a_derivative(make: Callable[[ark.Tensor], ark.Tensor], reason: str) -> None:
    with ark.Program("refuse"):
        x = ark.output("y", ark.input("x", (4,)))
        loss = ark.reduce_sum(make(x))
        with pytest.raises(ark.ArkError, match=reason):
            ark.gradients(loss, [x])


def test_other_wrong_arguments() -> None:
    def not_a_list() -> None:
        x = ark.input("x", (3,))
        ark.gradients(ark.reduce_sum(x), x)  # type: ignore[arg-type]

    def seed_of_another_shape() -> None:
        x = ark.input("x", (3,))
        ark.gradients(x * x, [x], seed=ark.ones((2,)))

    def seed_is_a_number() -> None:
        x = ark.input("x", (3,))
        ark.gradients(x * x, [x], seed=1)  # type: ignore[arg-type]

    with ark.Program("other"):
        foreign = ark.output("y", ark.input("x", (3,)))

    def of_another_program() -> None:
        x = ark.input("x", (3,))
        ark.gradients(ark.reduce_sum(x), [foreign])

    refuse(not_a_list, "wrt must be a list of tensors")
    refuse(
        seed_of_another_shape, "seed is fp32[2]; it must have the type of the loss 'mul', fp32[3]"
    )
    refuse(seed_is_a_number, "seed must be a tensor, not the int 1")
    refuse(of_another_program, "'x' belongs to program 'other'")
    with pytest.raises(ark.InvalidUsageError, match="outside of a program"):
        ark.gradients(foreign, [foreign])


def test_a_seed_gives_a_vector_jacobian_product() -> None:
    with ark.Program("product") as program:
        x, seed = ark.input("x", (3,)), ark.input("seed", (3,))
        (slope,) = ark.gradients(x * x, [x], seed=seed)
        ark.output("y", slope)
    x, seed = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, -1.0])
    np.testing.assert_array_equal(
        ark.reference.run(program, {"x": x, "seed": seed})["y"], 2 * x * seed
    )


def test_second_derivatives() -> None:
    with ark.Program("second") as program:
        x = ark.input("x", (3,))
        (first,) = ark.gradients(ark.reduce_sum(x**3.0), [x])
        (second,) = ark.gradients(ark.reduce_sum(first), [x])
        ark.output("y", second)
    x = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(ark.reference.run(program, {"x": x})["y"], 6 * x, rtol=1e-6)


def test_losses_and_dropout_check_their_arguments() -> None:
    with ark.Program("wrong"):
        x, labels = ark.input("x", (4, 5)), ark.input("labels", (4,), ark.int32)
        ark.output("y", x)
        for make, reason in (
            (
                lambda: ark.cross_entropy(labels, labels),
                "logits must have a float dtype, not int32",
            ),
            (lambda: ark.cross_entropy(x, x[:, 0]), "labels must have an integer dtype, not fp32"),
            (lambda: ark.cross_entropy(x, labels[:3]), r"labels of shape \[3\] do not fit"),
            (lambda: ark.cross_entropy(ark.zeros((4, 0)), labels), "do not fit"),
            (lambda: ark.dropout(x, 1.5, seed=1), r"p must be a number in \[0, 1\], not 1.5"),
            (lambda: ark.dropout(labels, 0.5, seed=1), "x must have a float dtype, not int32"),
            (lambda: ark.dropout(x, 0.5, seed=labels), r"seed must be an integer scalar"),
            (
                lambda: ark.scatter_add(x, labels, x[:2]),
                r"updates must have shape \[4, 5\], not \[2, 5\]",
            ),
            (lambda: ark.scatter_add(x, x[0], x), "indices"),
            (lambda: ark.scatter_add(x, labels, x, axis=2), "axis 2 is not a dimension"),
            (lambda: ark.checkpoint(lambda y: 1, x), "must return a tensor"),
        ):
            with pytest.raises(ark.InvalidUsageError, match=reason):
                make()


def test_labels_and_rows_out_of_range_are_errors_of_the_run() -> None:
    with ark.Program("range") as program:
        labels = ark.input("labels", (4,), ark.int32)
        ark.output("loss", ark.cross_entropy(ark.input("x", (4, 5)), labels))
        ark.output(
            "sums", ark.scatter_add(ark.zeros((5, 2)), ark.abs(labels) - 2, ark.ones((4, 2)))
        )
    x = np.ones((4, 5), np.float32)
    with ark.compile(program, target="cpu:1") as exe:
        good = exe.run(x=x, labels=np.array([2, 3, 4, 2], np.int32))
        assert abs(float(good["loss"]) - np.log(5)) <= 1e-6
        np.testing.assert_array_equal(good["sums"][:, 0], [2, 1, 1, 0, 0])
        for wrong in (5, -1, -99):
            with pytest.raises(ark.ArkError, match="out of range"):
                exe.run(x=x, labels=np.array([2, 3, 4, wrong], np.int32))


def test_a_function_to_checkpoint_updates_no_state() -> None:
    with ark.Program("impure"):
        x, s = ark.input("x", (3,)), ark.state("s", (3,))

        def impure(y: ark.Tensor) -> ark.Tensor:
            return ark.update(s, y, (0,)) * 2.0

        with pytest.raises(ark.InvalidUsageError, match="updates a state"):
            ark.checkpoint(impure, x)
