"""The weights of experts: one array for each projection in programs, tensors of files."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from ..errors import InvalidUsageError
from .experts import PROJECTIONS, Experts
from .weights import Arrays

__all__ = ["stack_experts", "unstack_experts"]


def stack_experts(experts: Experts, layers: int, tensors: Arrays, where: str) -> Arrays:
    """Returns the tensors of a file, with the matrices of all experts stacked to one array.

    Args:
        layers: number of layers.
        tensors: the tensors of the file, with names as in `experts.names`.
        where: the folder, for messages.

    The arrays are copies, in memory, named ``model.layers.<n>.mlp.experts.<projection>.weight``;
    the router is ``model.layers.<n>.mlp.gate.weight``. Raises InvalidUsageError if a tensor is
    missing, or the shapes or dtypes of a projection differ.

    Example:
        >>> experts = Experts(num_experts=2, experts_per_token=1, width=8, normalize=True)
        >>> projections = ("gate_proj", "up_proj", "down_proj")
        >>> tensors = {f"model.layers.0.mlp.experts.{e}.{p}.weight": np.zeros((8, 8))
        ...            for e in range(2) for p in projections}
        >>> tensors["model.layers.0.mlp.gate.weight"] = np.zeros((2, 8))
        >>> arrays = stack_experts(experts, 1, tensors, "folder")
        >>> arrays["model.layers.0.mlp.experts.up_proj.weight"].shape
        (2, 8, 8)
    """
    result = dict(tensors)
    for layer in filter(experts.has, range(layers)):
        prefix = f"model.layers.{layer}"
        for kind in ("weight", "bias") if experts.router.bias else ("weight",):
            _rename(result, f"{prefix}.{experts.names.router}.{kind}",
                    f"{prefix}.mlp.gate.{kind}", where)  # fmt: skip
        if experts.router.correction:
            _rename(result, f"{prefix}.{experts.names.correction}",
                    f"{prefix}.mlp.gate.correction", where)  # fmt: skip
        if experts.names.fused is None:
            _stack(experts, prefix, result, where)
        else:
            _divide(experts, prefix, result, where)
    return result


def _stack(experts: Experts, prefix: str, result: Arrays, where: str) -> None:
    """Replaces the matrices of each expert of a layer by one array for each projection."""
    for ours, theirs in zip(PROJECTIONS, experts.names.projections, strict=True):
        parts = [
            f"{prefix}.{experts.names.expert.format(number)}.{theirs}.weight"
            for number in range(experts.num_experts)
        ]
        _require(parts, result, where)
        arrays = [result.pop(name) for name in parts]
        for name, array in zip(parts, arrays, strict=True):
            if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                raise InvalidUsageError(
                    f"tensor {name!r} is {array.dtype} {list(array.shape)}, but the tensor of "
                    f"expert 0 is {arrays[0].dtype} {list(arrays[0].shape)}",
                    location=where,
                )
        result[f"{prefix}.mlp.experts.{ours}.weight"] = np.stack(arrays)


def _divide(experts: Experts, prefix: str, result: Arrays, where: str) -> None:
    """Replaces the arrays of gate and input of a layer, whose columns alternate.

    A file has ``[experts, inputs, outputs]``; a program has ``[experts, outputs, inputs]``.
    """
    fused, ours = f"{prefix}.{experts.names.fused}", f"{prefix}.mlp.experts"
    names = [
        f"{fused}.{name}" for name in
        ("gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias")
    ]  # fmt: skip
    _require(names, result, where)
    both, both_bias, down, down_bias = (result.pop(name) for name in names)
    for name, array, rank in zip(names, (both, both_bias, down, down_bias), (3, 2, 3, 2),
                                 strict=True):  # fmt: skip
        if array.ndim != rank:
            raise InvalidUsageError(
                f"tensor {name!r} has rank {array.ndim}, not {rank}", location=where
            )
    for offset, part in enumerate(PROJECTIONS[:2]):
        weight = both[..., offset::2].transpose(0, 2, 1)
        result[f"{ours}.{part}.weight"] = np.ascontiguousarray(weight)
        result[f"{ours}.{part}.bias"] = np.ascontiguousarray(both_bias[..., offset::2])
    result[f"{ours}.down_proj.weight"] = np.ascontiguousarray(down.transpose(0, 2, 1))
    result[f"{ours}.down_proj.bias"] = down_bias


def unstack_experts(experts: Experts, arrays: Arrays) -> Arrays:
    """Returns the arrays of a program as the tensors of a file; the inverse of
    :func:`stack_experts`.

    Args:
        arrays: the parameters of a decoder by name; other parameters keep their names.

    Matrices of single experts are views of `arrays`.

    Example:
        >>> experts = Experts(num_experts=2, experts_per_token=1, width=8, normalize=True)
        >>> arrays = {"model.layers.0.mlp.experts.up_proj.weight": np.zeros((2, 8, 8))}
        >>> sorted(unstack_experts(experts, arrays))[0]
        'model.layers.0.mlp.experts.0.up_proj.weight'
    """
    result, names = dict(arrays), experts.names
    for name in arrays:
        found = re.fullmatch(r"(model\.layers\.\d+)\.mlp\.(experts|gate)\.(.*)", name)
        if found is None:
            continue
        layer, part, tensor = found.groups()
        if part == "gate":
            other = names.correction if tensor == "correction" else f"{names.router}.{tensor}"
            result[f"{layer}.{other}"] = result.pop(name)
        elif names.fused is None:
            projection = names.projections[PROJECTIONS.index(tensor.removesuffix(".weight"))]
            for number, matrix in enumerate(result.pop(name)):
                result[f"{layer}.{names.expert.format(number)}.{projection}.weight"] = matrix
        elif not tensor.startswith("up_proj"):
            projection, kind = tensor.split(".")
            array = np.moveaxis(result.pop(name), -1, 1)
            if projection == "gate_proj":
                up = np.moveaxis(result.pop(name.replace("gate_proj", "up_proj")), -1, 1)
                array = np.stack((array, up), -1).reshape(*array.shape[:-1], -1)
                # Gate and input have columns in turn, along the last dimension.
                projection = "gate_up_proj"
            end = "_bias" if kind == "bias" else ""
            result[f"{layer}.{names.fused}.{projection}{end}"] = np.ascontiguousarray(array)
    return result


def _rename(result: Arrays, theirs: str, ours: str, where: str) -> None:
    _require((theirs,), result, where)
    result[ours] = result.pop(theirs)


def _require(names: Iterable[str], tensors: Arrays, where: str) -> None:
    for name in names:
        if name not in tensors:
            raise InvalidUsageError(
                f"the weights lack {name}, which the model type in config.json requires",
                location=where,
            )
