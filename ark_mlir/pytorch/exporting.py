"""``ark.from_torch``, which converts a PyTorch module to a program."""

# pyright: reportMissingImports=false, reportUnknownParameterType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import frontend as ark
from ..errors import InvalidUsageError, a_type
from .aten import Out
from .importing import Importer
from .library import require_torch
from .tracing import check_call, export, without_cache

if TYPE_CHECKING:
    import torch

__all__ = ["TorchProgram", "from_torch"]


class TorchProgram(ark.Program):
    """A program made of a PyTorch module; see :func:`ark_mlir.from_torch`.

    Example:
        >>> import torch
        >>> program = ark.from_torch(torch.nn.Linear(64, 16).eval(), (torch.zeros(4, 64),))
        >>> program.name
        'Linear'
    """

    def __init__(self, name: str, tensors: Mapping[str, torch.Tensor]) -> None:
        super().__init__(name)
        self._tensors = tensors

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns the tensors of the module's state dict that the program reads, by name.

        The tensors are not copies. ``exe.bind(program.state_dict())`` lets the kernel read them in
        place: later runs see later writes to them.

        Example:
            >>> import torch
            >>> program = ark.from_torch(torch.nn.Linear(64, 16).eval(), (torch.zeros(4, 64),))
            >>> sorted(program.state_dict())
            ['bias', 'weight']
        """
        return {name: self._tensors[name] for name in self.parameters}


def from_torch(
    module: torch.nn.Module | torch.export.ExportedProgram,
    example_inputs: torch.Tensor | Sequence[Any] | Mapping[str, Any] = (),
    *,
    name: str | None = None,
) -> TorchProgram:
    """Converts a PyTorch module to a program, through ``torch.export``.

    Args:
        module: an ``nn.Module`` in eval mode, or a ``torch.export.ExportedProgram``.
        example_inputs: arguments of ``forward``: a tensor, a tuple of positional arguments, or
            a dict of keyword arguments. Their shapes and dtypes are those of the program's inputs.
        name: the program's name; by default the name of the module's class.

    Returns:
        A program. Its inputs have the names of the arguments of ``forward``, and its parameters the
        names in the module's state dict. A single result has the name ``output``; results in a
        tuple have the names ``output_0``, ``output_1`` and so on; results in a dict or a dataclass
        have its keys. Tensors that depend on no input (positions, masks, buffers outside of the
        state dict) become constants. A model of transformers is traced with ``use_cache=False``
        unless the inputs say otherwise, since a cache is not a tensor.

    Raises:
        UnsupportedError: torch is not installed, the module's control flow depends on data, it
            returns other objects than tensors, or it uses ops that ark does not support. The error
            lists all such ops, with their nodes and Python lines.
        InvalidUsageError: the module or the example inputs have a wrong type, the inputs are not
            those of ``forward``, or ``forward`` raises an error for them, as for a wrong shape.

    Example:
        >>> import torch
        >>> program = ark.from_torch(torch.nn.Linear(64, 16).eval(), (torch.zeros(4, 64),))
        >>> exe = ark.compile(program, target="cpu").bind(program.state_dict())
        >>> exe.run(input=torch.zeros(4, 64))["output"].shape
        torch.Size([4, 16])
    """
    package = require_torch("ark.from_torch")
    exported = _exported(package, module, example_inputs)
    title = name or type(module if exported is not module else exported.graph_module).__name__
    importer = Importer(package, exported, title)
    program = TorchProgram(title, importer.exported.state_dict)
    with program:
        importer.finish(importer.translate(_argument))
    return program


def _exported(torch: Any, module: Any, example_inputs: Any) -> Any:
    if isinstance(module, torch.export.ExportedProgram):
        return module
    if not isinstance(module, torch.nn.Module):
        raise InvalidUsageError(
            f"from_torch takes an nn.Module or an ExportedProgram, not {a_type(module)}"
        )
    args, kwargs = _arguments(torch, example_inputs)
    _refuse_arrays(torch, args, kwargs)
    kwargs = without_cache(module, args, kwargs)
    check_call(module, args, kwargs)
    return export(torch, module, args, kwargs)


def _arguments(torch: Any, example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, Sequence) and not isinstance(example_inputs, str):
        return tuple(example_inputs), {}
    array = "; pass torch.from_numpy(array)" if isinstance(example_inputs, np.ndarray) else ""
    raise InvalidUsageError(
        "example_inputs must be a tensor, a tuple of arguments or a dict of keyword arguments, not "
        f"{a_type(example_inputs)}{array}"
    )


def _refuse_arrays(torch: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raises InvalidUsageError if an example input is an array of numpy."""
    for path, leaf in torch.utils._pytree.tree_flatten_with_path((args, dict(kwargs)))[0]:
        if isinstance(leaf, np.ndarray):
            where = torch.utils._pytree.keystr(path[1:])
            raise InvalidUsageError(
                f"example_inputs{where} is an array of numpy; pass torch.from_numpy(array)"
            )


def _argument(out: Out, kind: str, name: str) -> ark.Tensor:
    make = ark.input if kind == "input" else ark.parameter
    return make(name, out.shape, out.dtype)
