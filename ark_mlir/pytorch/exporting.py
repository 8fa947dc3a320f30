"""``ark.from_torch``, which converts a PyTorch module to a program."""

# pyright: reportMissingImports=false, reportUnknownParameterType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import frontend as ark
from ..errors import InvalidUsageError, UnsupportedError, a_type
from .aten import names
from .library import folder, require_torch
from .tracing import check_call, one_error, tracing_error, whole_stacks, without_cache
from .translate import Node, Translation, out_of, refusal

if TYPE_CHECKING:
    import torch

__all__ = ["TorchProgram", "from_torch"]


class TorchProgram(ark.Program):
    """A program made of a PyTorch module; see :func:`from_torch`.

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
        name: the program's name; by default that of the module's class.

    Returns:
        A program. Its inputs have the names of the arguments of ``forward``, its parameters those
        of the module's state dict. A single result has the name ``output``; results in a tuple have
        the names ``output_0``, ``output_1`` and so on; results in a dict or a dataclass have its
        keys. Tensors that depend on no input (positions, masks, buffers outside of the state dict)
        become constants. A model of transformers is traced with ``use_cache=False`` unless the
        inputs say otherwise, since a cache is no tensor.

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
    return _Importer(
        package, exported.run_decompositions(_decompositions(package)), title
    ).program()


def _exported(torch: Any, module: Any, example_inputs: Any) -> Any:
    if isinstance(module, torch.export.ExportedProgram):
        return module
    if not isinstance(module, torch.nn.Module):
        raise InvalidUsageError(
            f"from_torch takes an nn.Module or an ExportedProgram, not {a_type(module)}"
        )
    args, kwargs = _arguments(torch, example_inputs)
    kwargs = without_cache(module, args, kwargs)
    check_call(module, args, kwargs)
    try:
        with torch.no_grad(), one_error(), whole_stacks():
            return torch.export.export(module, args, kwargs)
    except Exception as error:
        raise tracing_error(module, error, folder(torch)) from error


def _arguments(torch: Any, example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, Sequence) and not isinstance(example_inputs, str):
        return tuple(example_inputs), {}
    raise InvalidUsageError(
        "example_inputs must be a tensor, a tuple of arguments or a dict of keyword arguments, not "
        f"{a_type(example_inputs)}"
    )


def _decompositions(torch: Any) -> Any:
    """Returns torch's default decompositions, without those of ops that ark supports."""
    table = torch.export.default_decompositions()
    own = set(names())
    for op in [op for op in table if str(op) in own]:
        table.pop(op)
    return table


class _Importer:
    """Converts an exported program to a program of ark."""

    def __init__(self, torch: Any, exported: Any, name: str) -> None:
        self._torch = torch
        self._name = name
        self._graph = exported.graph
        self._exported = exported
        nodes = {node.name: node for node in self._graph.nodes}
        self._inputs = [(spec, nodes[spec.arg.name]) for spec in self._tensor_specs()]
        self._nodes = nodes

    def _tensor_specs(self) -> list[Any]:
        tensors = self._torch.export.graph_signature.TensorArgument
        specs = self._exported.graph_signature.input_specs
        return [spec for spec in specs if isinstance(spec.arg, tensors)]

    def program(self) -> TorchProgram:
        """Returns the program; raises UnsupportedError if ark cannot express it."""
        from .folding import fold

        self._refuse_mutation()
        tensors = {**self._exported.state_dict}
        with TorchProgram(self._name, tensors) as program:
            known = {
                node: self._exported.constants[spec.target]
                for spec, node in self._inputs
                if spec.target in self._exported.constants
            }
            translation = Translation(fold(self._graph, known), folder(self._torch))
            for spec, node in self._inputs:
                if node not in known:
                    self._add_argument(translation, spec, node)
            for node in self._graph.nodes:
                if node.op == "call_function":
                    translation.add(node)
            if translation.problems:
                raise refusal(self._name, translation.problems.values())
            self._add_outputs(translation)
        return program

    def _refuse_mutation(self) -> None:
        kinds = self._torch.export.graph_signature.OutputKind
        for spec in self._exported.graph_signature.output_specs:
            if spec.kind != kinds.USER_OUTPUT:
                what = spec.target or spec.arg.name
                raise UnsupportedError(
                    f"{self._name!r} writes to {what!r} ({spec.kind.name.lower()}); modules with "
                    "side effects are not supported"
                )

    def _add_argument(self, translation: Translation, spec: Any, node: Node) -> None:
        kinds = self._torch.export.graph_signature.InputKind
        is_input = spec.kind == kinds.USER_INPUT
        if not is_input and not node.users:
            return
        make, name = (ark.input, node.name) if is_input else (ark.parameter, spec.target)
        try:
            out = out_of(node)
        except UnsupportedError as error:
            raise UnsupportedError(f"{self._name!r}, argument {name!r}: {error.message}") from None
        translation.set(node, make(name, out.shape, out.dtype))

    def _add_outputs(self, translation: Translation) -> None:
        tensors = self._torch.export.graph_signature.TensorArgument
        specs = self._exported.graph_signature.output_specs
        for name, spec in zip(self._output_names(len(specs)), specs, strict=True):
            if isinstance(spec.arg, tensors):  # other results are None or numbers
                ark.output(name, translation.tensor(self._nodes[spec.arg.name]))

    def _output_names(self, count: int) -> list[str]:
        """Returns the name of each result, from its path in the return value of ``forward``."""
        pytree = self._torch.utils._pytree
        tree = pytree.tree_unflatten(range(count), self._exported.call_spec.out_spec)
        leaves, _ = pytree.tree_flatten_with_path(tree)
        return [_output_name(path) for path, _ in leaves]


def _output_name(path: tuple[Any, ...]) -> str:
    """Returns the name of a result: ``output`` and its positions, or the keys that lead to it."""
    parts = [getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))) for key in path]
    named = parts and not isinstance(parts[0], int)
    return "_".join(str(part) for part in (parts if named else ["output", *parts]))
