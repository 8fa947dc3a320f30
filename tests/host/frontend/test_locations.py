"""Every op knows the line of Python that made it, and errors name that line."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.mlir.locations import describe


def line() -> int:
    """Returns the line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def locations(program: ark.Program) -> list[ir.Location]:
    block = program.module.body.operations[0].regions[0].blocks[0]
    return [op.location for op in block.operations]


def test_an_op_is_named_and_placed() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4,))
        y, here = ark.relu(x, name="first"), line()
        ark.output("y", -y)
    first, second, _ = locations(program)
    assert first.is_a_name()
    assert first.name_str == "first"
    assert second.name_str == "neg"
    assert describe(first) == f"{__file__}:{here}"
    assert describe(second) == f"{__file__}:{here + 1}"


def helper(x: ark.Tensor) -> ark.Tensor:
    return ark.exp(x)


def test_callers_follow_as_call_sites() -> None:
    with ark.Program("p") as program:
        y, here = helper(ark.input("x", (4,))), line()
        ark.output("y", y)
    location = locations(program)[0].child_loc
    assert location.is_a_callsite()
    assert describe(location.callee) == f"{__file__}:{helper.__code__.co_firstlineno + 1}"
    assert describe(location.caller) == f"{__file__}:{here}"


def test_recursion_does_not_grow_the_location() -> None:
    def deep(x: ark.Tensor, depth: int) -> ark.Tensor:
        return deep(x, depth - 1) if depth else ark.exp(x)

    with ark.Program("p") as program:
        ark.output("y", deep(ark.input("x", (4,)), 50))
    assert str(locations(program)[0]).count("callsite") <= 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps no columns")
def test_locations_include_the_column() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4,))
        ark.output("y", ark.exp(x) + ark.log(x))
    text = [str(location) for location in locations(program)]
    assert text[0] != text[1].replace('"log"', '"exp"')


def test_operators_are_placed_at_their_line() -> None:
    with ark.Program("p") as program:
        x = ark.input("x", (4, 4))
        y, here = (x[1:, ::-1] * 2 + 1) @ x, line()
        ark.output("y", y)
    assert {describe(location) for location in locations(program)[:-1]} == {f"{__file__}:{here}"}


def test_ops_of_a_module_are_under_its_path() -> None:
    class Layer(ark.Module):
        def forward(self, x: ark.Tensor) -> ark.Tensor:
            return ark.relu(x)

    class Net(ark.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Layer(), Layer()]

        def forward(self, x: ark.Tensor) -> ark.Tensor:
            for layer in self.layers:
                x = layer(x)
            return ark.exp(x)

    with ark.Program("p") as program:
        ark.output("y", Net()(ark.input("x", (4,))))
    names = [location.name_str for location in locations(program)[:-1]]
    assert names == ["layers.0.relu", "layers.1.relu", "exp"]


def test_ops_of_the_packages_models_have_the_lines_of_the_models() -> None:
    from ark_mlir.models.decoder import DecoderConfig, build_decode

    config = DecoderConfig(
        vocabulary=8, hidden=8, layers=1, heads=2, kv_heads=1, head=4, intermediate=8
    )
    program = build_decode(config, max_length=4)
    files = {str(describe(location)).rsplit(":", 1)[0] for location in locations(program)}
    models = f"{Path(ark.__file__).parent}/models/"
    assert {file for file in files if not file.startswith(models)} == set()


def test_describe_of_an_object_without_a_file() -> None:
    with ir.Context():
        assert describe(ir.Location.unknown()) is None
        assert describe(ir.Location.name("a")) is None
        fused = ir.Location.fused([ir.Location.unknown(), ir.Location.file("f.py", 3, 1)])
        assert describe(fused) == "f.py:3"


def test_an_error_names_op_line_and_reason() -> None:
    with ark.Program("p"):
        x = ark.input("x", (4, 8))
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.matmul(x, x)
        here = line() - 1
        ark.output("y", x)
    error = caught.value
    assert error.location == f"{__file__}:{here}"
    assert error.op == "ark.matmul"
    assert "contracted extents differ, 8 and 4" in error.message
    assert str(error) == f"{error.location}: {error.op}: {error.message}"
    assert "\n" not in str(error)
