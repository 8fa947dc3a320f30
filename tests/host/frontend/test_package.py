"""The package: imports are cheap, names are complete, and missing parts are reported."""

from __future__ import annotations

import importlib.metadata
import inspect
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir import knobs


def python(code: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_is_cheap_and_loads_nothing() -> None:
    out = python("""
        import sys
        before = set(sys.modules)
        import ark_mlir
        loaded = set(sys.modules) - before
        print({m for m in loaded if m.split(".")[0] not in sys.stdlib_module_names})
        print(len(loaded))
    """)
    foreign, count = out.splitlines()
    assert foreign == "{'ark_mlir'}"
    assert int(count) < 100


def test_only_public_names_are_listed() -> None:
    listed = {name for name in dir(ark) if not name.startswith("__")}
    assert {"Program", "compile", "custom_op", "tuning"} <= listed
    assert not {"TYPE_CHECKING", "annotations", "importlib"} & listed
    assert not [name for name in listed if name.startswith("_")]


def test_every_public_function_shows_how_it_is_called() -> None:
    functions = {n: getattr(ark, n) for n in ark.__all__ if inspect.isfunction(getattr(ark, n))}
    assert len(functions) > 80
    silent = [n for n, f in functions.items() if f"{n}(" not in (f.__doc__ or "")]
    assert silent == []


def test_dtypes_and_errors_need_no_compiled_part() -> None:
    out = python("""
        import sys
        sys.modules["ark_mlir._mlir_libs"] = None  # as if it were not installed
        import ark_mlir as ark
        print(ark.bf16, ark.bool, ark.InvalidUsageError.__name__, ark.knobs.TARGET.get())
        try:
            ark.Program
        except ImportError as error:
            print(error)
    """)
    assert "bf16 bool InvalidUsageError cpu" in out
    assert "the compiled part of ark_mlir is not installed" in out


def test_everything_but_from_torch_works_without_torch() -> None:
    out = python("""
        import sys
        sys.modules["torch"] = None  # as if it were not installed
        import ark_mlir as ark
        from ark_mlir.pytorch import aten
        print("aten.add.Tensor" in aten.names())
        try:
            ark.from_torch(None)
        except ark.UnsupportedError as error:
            print(error)
    """)
    assert out.splitlines() == [
        "True",
        "ark.from_torch needs PyTorch; install it with `pip install 'ark-mlir[torch]'`",
    ]


def test_torch_compile_finds_the_backend() -> None:
    (point,) = importlib.metadata.entry_points(group="torch_dynamo_backends", name="ark")
    assert point.value == "ark_mlir.pytorch.backend:backend"


def test_every_public_name_of_the_frontend_resolves() -> None:
    from ark_mlir import frontend

    for name in frontend.__all__:
        assert getattr(ark, name) is getattr(frontend, name)
        assert name in dir(ark)
    for name in ark.__all__:
        if name not in ("compile", "CompileOptions"):  # these packages have separate tests
            assert getattr(ark, name) is not None


def test_every_public_function_of_the_frontend_is_documented() -> None:
    from ark_mlir import frontend

    for name in frontend.__all__:
        assert getattr(frontend, name).__doc__, name


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'matmull'"):
        _ = ark.matmull  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"has no attribute 'topk'; use ark\.top_k$"):
        _ = ark.topk  # type: ignore[attr-defined]


def test_names_of_other_libraries_name_an_op() -> None:
    from ark_mlir.spellings import TORCH_FUNCTIONS

    assert set(TORCH_FUNCTIONS.values()) <= set(ark.__all__)


# ---------------------------------------------------------------- errors


def test_errors_name_location_problem_and_reason() -> None:
    error = ark.InvalidUsageError(
        "shapes differ", location="a.py:3", op="ark.add", notes=["b.py:4: the other one"]
    )
    assert str(error) == "a.py:3: ark.add: shapes differ\n  note: b.py:4: the other one"
    assert (error.location, error.op, error.message) == ("a.py:3", "ark.add", "shapes differ")
    assert isinstance(error, ValueError)
    assert str(ark.ArkError("alone")) == "alone"


def test_every_error_is_an_ark_error() -> None:
    from ark_mlir import errors

    for name in errors.__all__:
        kind = Warning if name.endswith("Warning") else ark.ArkError
        assert issubclass(getattr(ark, name), kind)
    assert issubclass(ark.VerificationError, ark.CompileError)
    assert issubclass(ark.HangError, ark.DeviceError)


# ---------------------------------------------------------------- dtypes


def test_dtypes_are_one_object_by_any_name() -> None:
    for dtype in ark.dtypes.ALL:
        for name in (
            dtype.name,
            dtype.mlir,
            dtype.numpy_name,
            dtype.numpy,
            f"torch.{dtype.numpy_name}",
        ):
            assert ark.dtypes.as_dtype(name) is dtype, name
        assert ark.dtypes.from_mlir(dtype.mlir) is dtype
        assert ark.dtypes.from_numpy(dtype.numpy) is dtype
        assert dtype.numpy.itemsize == dtype.itemsize
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert repr(dtype) == f"ark.{dtype.name}"


def test_integer_ranges_are_numpys() -> None:
    for dtype in ark.dtypes.ALL:
        if dtype.is_integer:
            info = np.iinfo(dtype.numpy)
            assert dtype.integer_range == (info.min, info.max)


def test_unit_roundoff_is_half_an_epsilon() -> None:
    import ml_dtypes

    for dtype in ark.dtypes.ALL:
        if dtype.is_float:
            assert dtype.unit_roundoff == float(ml_dtypes.finfo(dtype.numpy).eps) / 2
    assert ark.int8.unit_roundoff == 0


def test_python_types_without_a_width_are_no_dtypes() -> None:
    for value in (int, float, None, "float64", np.float64):
        with pytest.raises(ark.InvalidUsageError, match="unknown dtype"):
            ark.dtypes.as_dtype(value)
    assert ark.dtypes.as_dtype(bool) is ark.bool
    assert ark.dtypes.from_numpy(np.dtype(np.float64)) is None


# ---------------------------------------------------------------- knobs


def test_knobs_are_read_at_each_use_and_restored() -> None:
    before = knobs.TIMEOUT.get()
    with knobs.scope(ARK_TIMEOUT=None):
        default = knobs.TIMEOUT.get()
    with knobs.scope(ARK_TIMEOUT="2.5"):
        assert knobs.TIMEOUT.get() == 2.5
        assert knobs.TIMEOUT.is_set
        with knobs.scope(ARK_TIMEOUT=None):
            assert knobs.TIMEOUT.get() == default != 2.5
            assert not knobs.TIMEOUT.is_set
        assert knobs.TIMEOUT.get() == 2.5
    assert knobs.TIMEOUT.get() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [("ARK_TIMEOUT", "soon"), ("ARK_TIMEOUT", "-1"), ("ARK_TIMEOUT", "nan"),
     ("WORLD_SIZE", "-2"), ("WORLD_SIZE", "two"), ("ARK_LOG_LEVEL", "loud")],
)  # fmt: skip
def test_invalid_knobs_raise(name: str, text: str) -> None:
    with (
        knobs.scope(**{name: text}),
        pytest.raises(ark.InvalidUsageError, match=f"is not a value of {name}"),
    ):
        knobs.registry()[name].get()


def test_misspelt_knobs_are_refused() -> None:
    with pytest.raises(ark.InvalidUsageError, match="no such variable: ARK_TIMOUT"):
        knobs.scope(ARK_TIMOUT="1").__enter__()


def test_every_knob_is_read() -> None:
    package = Path(ark.__file__).parent
    texts = [path.read_text() for path in package.rglob("*.py") if path.name != "knobs.py"]
    unread = [
        name
        for name in knobs.__all__
        if isinstance(getattr(knobs, name), knobs.Knob)
        and not any(re.search(rf"\bknobs\.{name}\b", text) for text in texts)
    ]
    assert not unread


def test_every_knob_has_a_description() -> None:
    for name, knob in knobs.registry().items():
        # Knobs without the prefix are variables that many programs share.
        ours = name.startswith("ARK_")
        assert ours or name == "XDG_CACHE_HOME" or "torchrun" in knob.help or "MPI" in knob.help
        assert knob.help
