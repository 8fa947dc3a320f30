"""Invalid programs and options give one clear error that names the location.

Each program or option is given to the Python API and, if a command takes it, to the command line:
exit status 1, one message on stderr, no traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Refused = Callable[..., str]
Locate = Callable[[str], str]

T = "tensor<4x8xf32>"
GOOD = (
    f'ark.program @p(%x: {T} {{ark.kind = #ark.kind<input>, ark.name = "x"}})'
    f' -> ({T} {{ark.name = "y"}}) {{\n  ark.return %x : {T}\n}}\n'
)


# -- Python programs ------------------------------------------------------------------------------


def test_shapes_that_differ(locate: Locate) -> None:
    with ark.Program("p"):
        x = ark.input("x", (4, 8), ark.fp32)
        with pytest.raises(
            ark.InvalidUsageError, match=r"ark\.matmul: contracted extents"
        ) as caught:
            ark.matmul(x, x)  # matmul
        assert locate("matmul") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.add: ") as caught:
            _ = x + ark.input("z", (4, 7), ark.fp32)  # add
        assert locate("add") in str(caught.value)
        ark.output("y", x)


def test_dtypes_that_differ(locate: Locate) -> None:
    with ark.Program("p"):
        x = ark.input("x", (4, 8), ark.fp32)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.matmul: ") as caught:
            ark.matmul(x, ark.input("w", (8, 4), ark.bf16))  # dtypes
        assert locate("dtypes") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.input("u", (4,), "float33")  # dtype
        assert locate("dtype") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.embedding: ") as caught:
            ark.embedding(x, x)  # indices
        assert locate("indices") in str(caught.value)
        ark.output("y", x)


@pytest.mark.parametrize(
    "extent",
    [float("nan"), float("inf"), 2.5, 2.0, -1, "4", None, True, 2**63, 2**62, np.float32(4)],
)
def test_extents_that_are_not_counts_raise(extent: Any, locate: Locate) -> None:
    for make in (ark.input, ark.parameter, ark.state):
        with ark.Program("p"):
            with pytest.raises(ark.InvalidUsageError, match=r"shape") as caught:
                make("x", (extent, 4), ark.fp32)  # extent
            assert locate("extent") in str(caught.value)
            x = ark.input("z", (4, 4), ark.fp32)
            if extent != -1:
                with pytest.raises(ark.InvalidUsageError, match=r"shape|extent"):
                    ark.reshape(x, (extent, 4))
            ark.output("y", x)


def test_a_tensor_larger_than_the_address_space_raises(locate: Locate) -> None:
    with ark.Program("p"):
        with pytest.raises(ark.InvalidUsageError, match="takes 1152921504606846976 bytes") as e:
            ark.input("x", (2**58,), ark.fp32)  # bytes
        assert locate("bytes") in str(e.value)
        ark.output("y", ark.zeros((1,), ark.fp32))


def test_a_program_that_is_not_closed(locate: Locate) -> None:
    with pytest.raises(ark.InvalidUsageError, match="its with block completes it") as caught:
        ark.compile(ark.Program("p"), target="cpu:1")  # open
    assert locate("open") in str(caught.value)


def test_an_unknown_op_raises() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = ark.frobnicate  # type: ignore[attr-defined]


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "zork"}, "target 'zork' is not known"),
        ({"target": "cpu:0"}, "target 'cpu:0': the number of workers"),
        ({"target": "cpu:"}, "target 'cpu:': the number of workers"),
        ({"target": 5}, "target 5: expected a name"),
        ({"target": ""}, "the target is empty: expected a name"),
        ({"target": " "}, "the target is empty: expected a name"),
        ({"target": "cuda:sm_1"}, "target 'cuda:sm_1' is not known"),
        ({"target": "hip:gfx000"}, "target 'hip:gfx000' is not known: expected one of gfx90a,"),
        ({"scheduler": "zork"}, "unknown scheduler 'zork'"),
        ({"scheduler": "a}{"}, "'a}{' has '}'"),
        ({"dump_dir": "it's"}, "which is not allowed in an option"),
        ({"dump_dir": 5}, "option dump_dir=5: expected a folder"),
        ({"dump_dir": "/dev/null"}, "cannot write '/dev/null/01-graph.mlir'"),
        ({"tile": {"zork": (4,)}}, "no group and no op 'zork'"),
        ({"tile": {"exp": (4,)}}, "does not fit the result of 'exp'"),
        ({"tile": {"exp": (2**70, 4)}}, "positive integers"),
        ({"opt_level": True}, "option opt_level=True"),
        ({"speed": 11}, "compile has no option 'speed'; its options are scheduler"),
    ],
)
def test_invalid_options_raise(options: dict[str, Any], message: str) -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    with pytest.raises(ark.ArkError) as caught:
        ark.compile(made, **{"target": "cpu:1", **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_scheduler_raises() -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    with pytest.raises(ark.InvalidUsageError, match=r"^unknown scheduler 'zork': expected one of"):
        ark.compile(made, scheduler="zork")
    assert ark.compile(made, scheduler="round-robin", target="cpu:2").name == "p"


@pytest.mark.parametrize("path", [None, 5, 1.5, "", ["x.arkbin"]])
def test_invalid_paths_raise(path: Any) -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    executable = ark.compile(made, target="cpu:1")
    for use in (executable.save, ark.load, ark.models.load):
        with pytest.raises(ark.InvalidUsageError, match="expected a path") as caught:
            use(path)
        assert repr(path) in str(caught.value)


def test_invalid_options_on_the_command_line(refused: Refused) -> None:
    Path("p.mlir").write_text(GOOD, encoding="utf-8")
    compile_it = ("compile", "p.mlir", "-o", "o.arkbin")
    assert "target 'zork'" in refused(*compile_it, "--target", "zork")
    assert "unknown scheduler '5x'" in refused(*compile_it, "--set", "scheduler=5x")
    assert "has '}'" in refused(*compile_it, "--dump-dir", "a}b")
    assert "the target is empty" in refused(*compile_it, "--target", "")
    assert ".: Is a directory" in refused("compile", "p.mlir", "-o", ".")
    # The error names the output file, and not the temporary file beside it.
    assert "error: no/o.arkbin: No such" in refused("compile", "p.mlir", "-o", "no/o.arkbin")
