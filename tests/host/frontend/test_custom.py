"""Custom ops: a body and regions that the user writes, checked by frontend, compiler and proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.reference.regions import Region as Interpreted
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
ROWS = ark.Region((2, 12), lambda i: (2 * i, 0))


@contextmanager
def building() -> Iterator[ark.Tensor]:
    """An open program with the input x of shape [8, 12]."""
    with ark.Program("custom"):
        x = ark.input("x", (8, 12))
        yield x
        ark.output("always", x + 1)


def rows_op(x: ark.Tensor, body: Any, **changes: Any) -> ark.Tensor:
    options: dict[str, Any] = {
        "grid": 4, "regions": [ROWS], "shape": (8, 12), "out_region": ROWS, **changes
    }  # fmt: skip
    return ark.custom_op("rows", body, [x], **options)


def agree(
    build: Callable[..., ark.Tensor],
    shapes: dict[str, Any],
    target: str,
    dtype: ark.DType = ark.fp32,
) -> None:
    """Compares a program with the interpreter within its bound."""
    rng = np.random.default_rng(0)
    arrays = {n: rng.standard_normal(s).astype(dtype.numpy) for n, s in shapes.items()}
    with ark.Program("custom") as program:
        ark.output("y", build(*(ark.input(n, s, dtype) for n, s in shapes.items())))
    expected = ark.reference.evaluate(program, arrays, bound=True)
    with ark.compile(program, target=target) as executable:
        assert executable.bundle.manifest.proven
        y = executable.run(arrays)["y"]
    assert_within(y, expected.outputs["y"], expected.bounds["y"], "y")


# -- bodies that are functions --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
def test_a_fused_op_between_others(dtype: ark.DType, pick_target: Pick) -> None:
    def body(x: ark.Tensor, gate: ark.Tensor, weight: ark.Tensor) -> ark.Tensor:
        return ark.rmsnorm(x, weight) * ark.sigmoid(gate) + 1

    def build(x: ark.Tensor, g: ark.Tensor, w: ark.Tensor) -> ark.Tensor:
        y = ark.custom_op(
            "gated", body, [ark.exp(x), g.T, w], grid=(4,), regions=[ROWS, ROWS, None],
            shape=(8, 12), out_region=ROWS,
        )  # fmt: skip
        return ark.softmax(y)

    agree(build, {"x": (8, 12), "g": (12, 8), "w": (12,)}, pick_target("cpu:2"), dtype)


def test_a_product_with_a_grid_of_two_dimensions(pick_target: Pick) -> None:
    """Tiles of a product; the grid's indices are permuted, divided and reduced."""

    def body(a: ark.Tensor, b: ark.Tensor) -> ark.Tensor:
        return ark.relu(ark.matmul(a, b, transpose_other=True))

    def build(a: ark.Tensor, b: ark.Tensor) -> ark.Tensor:
        return ark.custom_op(
            "product", body, [a, b], grid=(3, 4),
            regions=[
                ark.Region((8, 20), lambda i, j: ((j // 2) * 8, 0)),
                ark.Region((4, 20), lambda i, j: ((i + 3 * (j % 2)) * 4, 0)),
            ],
            shape=(16, 24),
            out_region=ark.Region((8, 4), lambda i, j: (8 * (j // 2), 12 * (j % 2) + i * 4)),
        )  # fmt: skip

    agree(build, {"a": (16, 20), "b": (24, 20)}, pick_target("cpu:2"))


def test_without_inputs_and_with_another_dtype() -> None:
    with ark.Program("p") as program:
        part = ark.Region((2,), lambda i: 2 * i)
        y = ark.custom_op(
            "sevens", lambda: ark.full((2,), 7, ark.int32), [], grid=2, regions=[], shape=(4,),
            out_region=part, dtype=ark.int32,
        )  # fmt: skip
        ark.output("y", y)
    assert ark.compile(program, "cpu:2").run()["y"].tolist() == [7] * 4
    assert ark.reference.run(program, {})["y"].tolist() == [7] * 4


def test_pins_apply_to_the_op_and_not_to_its_body() -> None:
    with ark.Program("p") as program, ark.planner(sms=(1, 2)):
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, lambda tile: ark.exp(tile)))
    text = program.mlir
    assert text.count("ark.plan") == 1
    v = np.ones((8, 12), np.float32)
    assert np.allclose(ark.compile(program, "cpu:2").run(v)["y"], np.e)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_gpus_take_custom_ops(target: str) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, lambda tile: ark.softmax(tile)))
    report = ark.compile(program, target).report()
    assert report.proven
    assert report.vctas == 4


# -- bodies in MLIR -------------------------------------------------------------------------------

REVERSED = """
    %0 = linalg.generic {
        indexing_maps = [affine_map<(r, c) -> (r, 11 - c)>, affine_map<(r, c) -> (r, c)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%x0 : tensor<2x12xf32>) outs(%out : tensor<2x12xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x12xf32>
    ark.yield %0 : tensor<2x12xf32>
"""


def test_text(pick_target: Pick) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, REVERSED) + 0)
    v = np.arange(96, dtype=np.float32).reshape(8, 12)
    with ark.compile(program, pick_target("cpu:2")) as executable:
        assert np.array_equal(executable.run(v)["y"], v[:, ::-1])
    with pytest.raises(ark.UnsupportedError, match=r"linalg\.generic"):
        ark.reference.run(program, {"x": v})


def test_text_with_clipped_tiles(pick_target: Pick) -> None:
    """The last vCTA has two rows instead of three; the index of the vCTA is added."""
    body = """
        %i = arith.index_cast %i0 : index to i32
        %f = arith.sitofp %i : i32 to f32
        %0 = linalg.generic {
            indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
            iterator_types = ["parallel", "parallel"]}
            ins(%x0 : tensor<?x12xf32>) outs(%out : tensor<?x12xf32>) {
        ^bb0(%a: f32, %o: f32):
          %s = arith.addf %a, %f : f32
          linalg.yield %s : f32
        } -> tensor<?x12xf32>
        ark.yield %0 : tensor<?x12xf32>
    """
    part = ark.Region((3, 12), lambda i: (3 * i, 0))
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, body, grid=3, regions=[part], out_region=part))
    v = np.zeros((8, 12), np.float32)
    with ark.compile(program, pick_target("cpu:2")) as executable:
        y = executable.run(v)["y"]
    assert y[:, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ark.yield %x1 : tensor<2x12xf32>", "line 1 of the body: use of undeclared SSA value"),
        ("%0 = arith.foo\n", "line 1 of the body: custom op|operation .*foo"),
        ("\n%c = arith.constant 1 : i32\n\nark.yield %c : i32", "not the tile"),
        ("", "expects a non-empty block"),
    ],
)
def test_wrong_text(body: str, message: str) -> None:
    with building() as x, pytest.raises(ark.InvalidUsageError, match=message) as caught:
        rows_op(x, body)
    assert __file__ in str(caught.value)


def test_ops_that_a_body_cannot_have() -> None:
    text = "%1 = ark.argmax %x0 axis = 1 : (tensor<2x12xf32>) -> tensor<2xi32>\n" + REVERSED
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, text))
    with pytest.raises(ark.CompileError, match=r"'ark\.argmax' cannot be part of the body"):
        ark.compile(program, "cpu:2")


# -- refusals -------------------------------------------------------------------------------------


def twice(tile: ark.Tensor) -> ark.Tensor:
    return tile + tile


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": ()}, "grid must have positive extents"),
        ({"grid": 0}, "grid must have positive extents"),
        ({"regions": []}, "regions must have 1 entry, .* not 0"),
        ({"regions": ["rows"]}, r"regions\[0\] must be an ark\.Region"),
        ({"out_region": None}, r"out_region must be an ark\.Region"),
        ({"regions": [ark.Region((2,), lambda i: 2 * i)]}, "has 1 sizes and 1 offsets, .* shape"),
        ({"regions": [ark.Region((0, 12), lambda i: (i, 0))]}, "must be positive"),
        ({"regions": [ark.Region((2, 12), lambda i, j: (i, j))]}, "must be a function of 1 index"),
        ({"regions": [ark.Region((2, 12), lambda i: (i * i, 0))]}, "a factor of an index"),
        ({"regions": [ark.Region((2, 12), lambda i: (i // 0, 0))]}, "must be positive, not 0"),
        ({"regions": [ark.Region((2, 12), lambda i: (4 * i, 0))]}, "starts at 12 in dimension 0"),
        ({"regions": [ark.Region((2, 12), lambda i: (2 - i, 0))]}, "starts at -1 in dimension 0"),
        ({"regions": [ark.Region((3, 12), lambda i: (2 * i, 0))]}, "its region is clipped"),
        ({"out_region": ark.Region((1, 12), lambda i: (i, 0))}, "the tile of the result is fp32"),
        ({"dtype": ark.bf16}, "the tile of the result is bf16"),
    ],
)
def test_wrong_regions(changes: dict[str, Any], message: str) -> None:
    with building() as x, pytest.raises(ark.InvalidUsageError, match=message) as caught:
        rows_op(x, twice, **changes)
    assert __file__ in (caught.value.location or "")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda tile: None, "the body must return a tensor, not None"),
        (lambda tile: ark.reduce_sum(tile, 1), r"the body returns fp32\[2, 1\]"),
        (lambda tile: ark.input("z", (2, 12)), "input 'z' cannot be declared in the body"),
        (3, "body must be a function or MLIR text, not 3"),
        (lambda tile: rows_op(tile, twice), "cannot be part of the body of another one|starts at"),
    ],
)
def test_wrong_bodies(body: Any, message: str) -> None:
    with building() as x, pytest.raises(ark.InvalidUsageError, match=message):
        rows_op(x, body)


def test_a_body_uses_its_own_tiles_alone() -> None:
    kept: list[ark.Tensor] = []

    def leaks(tile: ark.Tensor) -> ark.Tensor:
        kept.append(tile)
        return tile * 1

    with building() as x:
        other = ark.input("other", (2, 12))
        with pytest.raises(
            ark.InvalidUsageError, match=r"'other' is not a tile of this custom op, .* in inputs="
        ):
            rows_op(x, lambda tile: tile + other)
        rows_op(x, leaks)
        with pytest.raises(ark.InvalidUsageError, match="is a tile in the body of a custom op"):
            ark.exp(kept[0])
        with pytest.raises(ark.InvalidUsageError, match="which it did not compute from its tiles"):
            rows_op(x, lambda tile: kept[0])


def test_an_exception_in_a_body_leaves_the_program_usable() -> None:
    def fails(tile: ark.Tensor) -> ark.Tensor:
        raise KeyError("mine")

    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        with pytest.raises(KeyError, match="mine"):
            rows_op(x, fails)
        ark.output("y", rows_op(x, twice))
    assert program.mlir.count("ark.custom") == 1


@pytest.mark.parametrize(
    ("step", "size", "grid", "message"),
    [
        (4, 2, 2, "some would never be written"),
        (2, 4, 3, "some would be written by several vCTAs"),
        # The parts overlap and leave a gap; together they have as many elements as the result.
        (1, 4, 2, "output 'y' has 384 bytes, and no task fills byte 240"),
    ],
)
def test_the_compiler_refuses_wrong_parts(step: int, size: int, grid: int, message: str) -> None:
    part = ark.Region((size, 12), lambda i: (step * i, 0))
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, twice, grid=grid, regions=[part], out_region=part))
    with pytest.raises(ark.CompileError, match=message) as caught:
        ark.compile(program, "cpu:2")
    assert __file__ in str(caught.value)


def test_an_access_outside_of_the_tile_is_refused() -> None:
    body = REVERSED.replace("(r, 11 - c)", "(r, c)").replace("ark.yield %0", "ark.yield %1")
    body = body.replace(
        "ark.yield %1",
        "%1 = tensor.insert_slice %s into %0[0, 8] [2, 5] [1, 1] : tensor<2x5xf32> into "
        "tensor<2x12xf32>\n    ark.yield %1",
    )
    body = "%s = tensor.extract_slice %x0[0, 0] [2, 5] [1, 1] : tensor<2x12xf32> to " + (
        "tensor<2x5xf32>\n" + body
    )
    with building() as x, pytest.raises(ark.InvalidUsageError):
        rows_op(x, body)


FILLED_TWICE = REVERSED.replace("(r, 11 - c)", "(r, c)").replace(
    "affine_map<(r, c) -> (r, c)>],", "affine_map<(r, c) -> (r, 0)>],"
)
FROM_EMPTY = """
    %e = tensor.empty() : tensor<2x12xf32>
    %0 = linalg.generic {
        indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%e : tensor<2x12xf32>) outs(%out : tensor<2x12xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<2x12xf32>
    ark.yield %0 : tensor<2x12xf32>
"""
HALF = """
    %s = tensor.extract_slice %x0[0, 0] [2, 5] [1, 1] : tensor<2x12xf32> to tensor<2x5xf32>
    %0 = tensor.insert_slice %s into %out[0, 7] [2, 5] [1, 1]
        : tensor<2x5xf32> into tensor<2x12xf32>
    ark.yield %0 : tensor<2x12xf32>
"""


@pytest.mark.parametrize("target", ["cpu:2", "cuda:sm_90a"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ark.yield %out : tensor<2x12xf32>", "does not fill its out 0"),
        (HALF, "does not fill its out 0"),
        (FROM_EMPTY, "does not fill its out 0"),
        (FILLED_TWICE, "may write an element in several iterations of its parallel loop 1"),
    ],
)
def test_results_that_are_not_written_are_refused(body: str, message: str, target: str) -> None:
    """Without the check, the proof would accept these programs, which return old bytes of the
    arena."""
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x * x, body) + 1)
    with pytest.raises(ark.CompileError, match=message) as caught:
        ark.compile(program, target)
    assert __file__ in str(caught.value)


# Fills the result, and replaces `%rows` by `%next` for each row `%r`.
LOOP = """
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<2x12xf32>) -> tensor<2x12xf32>
    %1 = scf.for %r = %c0 to %c2 step %c1 iter_args(%rows = %0) -> (tensor<2x12xf32>) {
      NEXT
      scf.yield %next : tensor<2x12xf32>
    }
    ark.yield %1 : tensor<2x12xf32>
"""
COPY = """
      %row = tensor.extract_slice %x0[%r, 0] [1, 12] [1, 1]
          : tensor<2x12xf32> to tensor<1x12xf32>
      %RESULT = tensor.insert_slice %row into %rows[%r, 0] [1, 12] [1, 1]
          : tensor<1x12xf32> into tensor<2x12xf32>
"""
BRANCH = f"""
      %first = tensor.extract %x0[%r, %c0] : tensor<2x12xf32>
      %copies = arith.cmpf ogt, %first, %zero : f32
      %next = scf.if %copies -> (tensor<2x12xf32>) {{
        {COPY.replace("RESULT", "own")}
        scf.yield %own : tensor<2x12xf32>
      }} else {{
        scf.yield %rows : tensor<2x12xf32>
      }}
"""


def test_a_loop_writes_a_filled_result(pick_target: Pick) -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, LOOP.replace("NEXT", COPY.replace("RESULT", "next"))) + 0)
    v = np.arange(96, dtype=np.float32).reshape(8, 12)
    with ark.compile(program, pick_target("cpu:2")) as executable:
        assert np.array_equal(executable.run(v)["y"], v)


def test_a_branch_in_a_loop(pick_target: Pick) -> None:
    """Rows with a positive first element are copied, and all others are zero."""
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, LOOP.replace("NEXT", BRANCH)) + 0)
    v = np.random.default_rng(0).standard_normal((8, 12)).astype(np.float32)
    with ark.compile(program, pick_target("cpu:2")) as executable:
        assert np.array_equal(executable.run(v)["y"], np.where(v[:, :1] > 0, v, 0))


def test_ops_with_results_of_one_shape(pick_target: Pick) -> None:
    """Each task has its own tensor: tiling refuses a program with two tasks that write to one
    tensor."""
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, REVERSED) + rows_op(x * 2, REVERSED))
    v = np.arange(96, dtype=np.float32).reshape(8, 12)
    with ark.compile(program, pick_target("cpu:2")) as executable:
        assert np.array_equal(executable.run(v)["y"], 3 * v[:, ::-1])


def test_the_interpreter_refuses_a_result_that_is_not_written() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (8, 12))
        ark.output("y", rows_op(x, "ark.yield %out : tensor<2x12xf32>"))
    with pytest.raises(ark.InvalidUsageError, match="that its body has not written"):
        ark.reference.run(program, {"x": np.zeros((8, 12), np.float32)})


# -- the interpreter's regions --------------------------------------------------------------------


def test_regions_of_the_interpreter() -> None:
    region = Interpreted.parse(
        "#ark.region<(d0, d1) -> (d0 * 4 + d1 floordiv 2, d1 mod 2), [4, 1]>"
    )
    assert region.slices((1, 3)) == (slice(5, 9), slice(1, 2))
    assert Interpreted.parse("#ark.region<(d0) -> (), []>").slices((1,)) == ()
    for text in ("#ark.region<(d0) -> (__import__('os')), [1]>", "(d0) -> (d0)", ""):
        with pytest.raises(ark.InvalidUsageError, match="cannot interpret the region"):
            Interpreted.parse(text)
