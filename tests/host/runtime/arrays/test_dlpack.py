"""Arrays of other libraries: no copy of inputs, and outputs in the library of the inputs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir import dtypes
from ark_mlir.runtime.arrays.dlpack import Exporter, import_dlpack
from ark_mlir.runtime.arrays.frameworks import framework, to_numpy

Array = np.ndarray[Any, Any]


class Foreign:
    """An array of an unknown library that has only DLPack."""

    def __init__(self, array: Array, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **arguments: Any) -> Any:
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Old(Foreign):
    """An array with only DLPack, whose capsule has no version."""

    def __dlpack__(self, stream: object = None) -> Any:
        return Exporter(self.array).__dlpack__()


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("library", [Foreign, Old])
def test_every_dtype_comes_through(dtype: ark.DType, library: type[Foreign]) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    result = to_numpy(library(array), "x")
    assert result.dtype == dtype.numpy
    assert np.array_equal(result, array)
    assert result.ctypes.data == array.ctypes.data, "copied"


def test_strides_and_offsets() -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (array.T, array[1:, ::2], array[2], array[2:3, :], array[0, 0:0]):
        assert np.array_equal(to_numpy(Foreign(view), "x"), view)
    bf16 = array.astype(ml_dtypes.bfloat16)
    assert np.array_equal(to_numpy(Foreign(bf16[1:, ::2]), "x"), bf16[1:, ::2])


def test_scalars_and_empty_arrays() -> None:
    assert to_numpy(Foreign(np.array(3, np.int32)), "x").shape == ()
    assert to_numpy(Foreign(np.zeros((0, 4), np.float32)), "x").shape == (0, 4)


def test_the_memory_lives_as_long_as_the_array() -> None:
    array = np.arange(1000, dtype=np.int32)
    gone = weakref.ref(array)
    result = to_numpy(Foreign(array), "x")[10:]
    del array
    gc.collect()
    assert gone() is not None
    assert result[0] == 10
    del result
    gc.collect()
    assert gone() is None


def test_import_and_drop_many_times() -> None:
    """A deleter that is called twice crashes here; one that is never called leaks."""
    array = np.zeros(10, np.float32)
    for _ in range(20_000):
        import_dlpack(Foreign(array), "x")
    assert to_numpy(Foreign(array), "x").sum() == 0


def test_read_only_arrays_stay_read_only() -> None:
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    assert not to_numpy(Foreign(array), "x").flags.writeable


@pytest.mark.parametrize(("device", "name"), [(2, "cuda"), (10, "rocm"), (99, "device type 99")])
def test_device_memory_is_refused(device: int, name: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=f"x is on {name}"):
        to_numpy(Foreign(np.zeros(1, np.float32), device), "x")


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int16", "uint64"])
def test_other_element_types_are_refused(dtype: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match="x has elements of"):
        to_numpy(Foreign(np.zeros(1, dtype)), "x")


def test_a_library_that_refuses_is_quoted() -> None:
    class Refusing(Foreign):
        def __dlpack__(self, **arguments: Any) -> Any:
            raise BufferError("requires gradient")

    with pytest.raises(ark.InvalidUsageError, match="requires gradient"):
        to_numpy(Refusing(np.zeros(1)), "x")


def test_an_object_that_is_no_capsule_raises() -> None:
    class Lying(Foreign):
        def __dlpack__(self, **arguments: Any) -> Any:
            return b"no capsule"

    with pytest.raises(ark.InvalidUsageError, match="no DLPack capsule"):
        to_numpy(Lying(np.zeros(1)), "x")


def test_outputs_for_an_unknown_library_are_numpy() -> None:
    array = np.zeros(1, np.float32)
    assert framework([Foreign(array)])(array) is array
    assert framework([])(array) is array


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_torch(dtype: ark.DType) -> None:
    torch = library("torch")
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    tensor = framework([np.zeros(1), torch.zeros(1)])(array)
    assert isinstance(tensor, torch.Tensor)
    assert tensor.data_ptr() == array.ctypes.data, "copied"
    back = to_numpy(tensor, "x")
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)


def test_torch_gradients() -> None:
    torch = library("torch")
    with pytest.raises(ark.InvalidUsageError, match="gradient"):
        to_numpy(torch.zeros(3, requires_grad=True), "x")


def test_torch_parameters_are_bound_in_place(add: Any, x: Array) -> None:
    torch = library("torch")
    weight = torch.nn.Parameter(torch.full((128,), 3.0))
    y = add.bind({"w": weight}).run(x=torch.from_numpy(x))["y"]
    assert isinstance(y, torch.Tensor)
    assert torch.equal(y, torch.arange(128) + 3.5)


def test_torch_tensors_stay_resizable(add: Any, x: Array) -> None:
    """FSDP releases the memory of parameters; ``tensor.numpy()`` would forbid it for ever."""
    torch = library("torch")
    weight, values = torch.full((128,), 3.0), torch.from_numpy(x).clone()
    y = add.bind({"w": weight}).run(x=values)["y"]
    assert torch.equal(y, torch.arange(128) + 3.5)
    del y
    values.resize_(2 * values.numel())
    add.bind({"w": torch.zeros(128)})  # the kernel must not read memory that was released
    weight.untyped_storage().resize_(0)
    assert weight.untyped_storage().nbytes() == 0


def test_an_array_keeps_its_torch_tensor() -> None:
    torch = library("torch")
    tensor = torch.arange(1 << 16)
    memory = weakref.ref(tensor)
    array = to_numpy(tensor, "x")
    del tensor
    assert memory() is not None
    assert array[-1] == (1 << 16) - 1
    del array
    assert memory() is None


@pytest.mark.parametrize(
    "make",
    [
        lambda torch: torch.tensor(3.0),
        lambda torch: torch.empty(0, 4),
        lambda torch: torch.arange(24.0).view(4, 6).t(),
        lambda torch: torch.arange(24.0)[1:].view(1, 23),
        lambda torch: torch.ones(1, 3).expand(4, 3),
        lambda torch: torch.complex(torch.ones(3), torch.ones(3)).conj().imag,  # negated lazily
    ],
)
def test_torch_of_any_layout(make: Any) -> None:
    torch = library("torch")
    tensor = make(torch)
    assert np.array_equal(to_numpy(tensor, "x"), tensor.numpy(force=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda torch: torch.empty(2, device="meta"), "meta"),
        (lambda torch: torch.ones(2, 2).to_sparse(), "layout"),
        (lambda torch: torch.ones(2, dtype=torch.complex64).conj(), "conjugate"),
        (lambda torch: torch.ones(2, dtype=torch.float64), "float64"),
        (lambda torch: torch.ones(2, dtype=torch.float8_e4m3fnuz), "type 11-8"),
    ],
)
def test_torch_tensors_without_dlpack_raise(make: Any, message: str) -> None:
    torch = library("torch")
    with pytest.raises(ark.InvalidUsageError, match=f"^x .*{message}"):
        to_numpy(make(torch), "x")


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_a_fake_tensor_has_no_memory() -> None:
    torch = library("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(2)
    with pytest.raises(ark.InvalidUsageError, match="x has no memory"):
        to_numpy(fake, "x")


def test_torch_parameters_live_as_long_as_they_are_bound(add: Any, x: Array) -> None:
    torch = library("torch")
    weight = torch.full((128,), 3.0)
    gone = weakref.ref(weight.untyped_storage())
    add.bind({"w": weight})
    assert add.report().bound_copied == 0
    del weight
    gc.collect()
    assert torch.equal(add.run(x=torch.from_numpy(x))["y"], torch.arange(128) + 3.5)
    add.close()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("part", [slice(1, 129), slice(0, 256, 2)], ids=["misaligned", "strided"])
def test_torch_parameters_that_cannot_be_used_in_place_are_copied(
    add: Any, x: Array, part: slice
) -> None:
    torch = library("torch")
    weight = torch.arange(256.0)[part]
    y = add.bind({"w": weight}).run(x=torch.from_numpy(x))["y"]
    assert add.report().bound_copied == weight.nbytes
    assert torch.equal(y, torch.arange(128) + weight + 0.5)


def test_torch_results_outlive_the_executable(add: Any, x: Array) -> None:
    torch = library("torch")
    y = add.bind({"w": torch.full((128,), 3.0)}).run(x=torch.from_numpy(x))["y"]
    add.close()
    del add
    gc.collect()
    y += 1
    assert torch.equal(y, torch.arange(128) + 4.5)


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp8_e4m3", "fp8_e5m2", "int32", "bool"])
def test_jax(dtype: str) -> None:
    jax = library("jax.numpy")
    array = np.arange(6).reshape(2, 3).astype(dtypes.as_dtype(dtype).numpy)
    result = framework([jax.zeros(1)])(array)
    assert type(result).__module__.startswith("jax")
    assert result.dtype == array.dtype
    assert np.array_equal(to_numpy(result, "x"), array)


def test_a_run_returns_arrays_of_the_inputs_library(add: Any, x: Array) -> None:
    jax = library("jax.numpy")
    y = add.run(x=jax.asarray(x))["y"]
    assert type(y).__module__.startswith("jax")
    assert np.array_equal(np.asarray(y), np.arange(128) + 1.5)
    with add.resident() as resident:
        y = resident.run(x=jax.asarray(x))["y"]
    assert type(y).__module__.startswith("jax")
