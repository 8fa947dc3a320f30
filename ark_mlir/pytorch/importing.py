"""Translation of an exported PyTorch program into the program under construction."""

# pyright: reportMissingImports=false, reportUnknownParameterType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import frontend as ark
from ..errors import UnsupportedError
from .aten import Out, names
from .library import folder
from .translate import Node, Translation, out_of, refusal

__all__ = ["Importer"]

# Makes the tensor of an argument from its shape and dtype, its kind ("input", "parameter" or
# "buffer") and its name.
MakeArgument = Callable[[Out, str, str], ark.Tensor]


class Importer:
    """Translates a ``torch.export.ExportedProgram``.

    Args:
        torch: the package torch.
        exported: the exported program.
        name: the name of the module, for messages.

    Attributes:
        exported: the program, decomposed to the ops that ark supports.
    """

    def __init__(self, torch: Any, exported: Any, name: str) -> None:
        self._torch = torch
        self._name = name
        with warnings.catch_warnings():
            # torch 2.13 copies its own objects in a way that it has deprecated.
            warnings.filterwarnings("ignore", r".*LeafSpec.* is deprecated", FutureWarning)
            self.exported = exported.run_decompositions(_decompositions(torch))
        self._graph = self.exported.graph
        self._nodes = {node.name: node for node in self._graph.nodes}
        tensors = torch.export.graph_signature.TensorArgument
        specs = self.exported.graph_signature.input_specs
        self._inputs = [
            (spec, self._nodes[spec.arg.name]) for spec in specs if isinstance(spec.arg, tensors)
        ]

    def translate(self, argument: MakeArgument, counter: ark.Tensor | None = None) -> Translation:
        """Adds the ops of the graph to the open program, and returns the translation.

        Args:
            argument: makes the tensors of arguments; not called for parameters and buffers that no
                op reads.
            counter: the number of the step, from which dropout takes its random numbers; None
                refuses dropout.

        Raises UnsupportedError if the graph writes to an argument, or has ops that ark lacks.
        """
        from .folding import fold

        constants = self.exported.constants
        known = {n: constants[spec.target] for spec, n in self._inputs if spec.target in constants}
        translation = Translation(fold(self._graph, known), folder(self._torch), counter)
        self._refuse_mutation(translation)
        for spec, node in self._inputs:
            if node not in known:
                self._add_argument(translation, argument, spec, node)
        for node in self._graph.nodes:
            if node.op == "call_function":
                translation.add(node)
        if translation.problems:
            raise refusal(self._name, translation.problems.values())
        return translation

    def _refuse_mutation(self, translation: Translation) -> None:
        kinds = self._torch.export.graph_signature.OutputKind
        for spec in self.exported.graph_signature.output_specs:
            # The ops that return tokens are unsupported, and the error names them.
            if spec.kind not in (kinds.USER_OUTPUT, kinds.LOSS_OUTPUT, kinds.TOKEN):
                target = spec.target or spec.arg.name
                raise UnsupportedError(
                    f"{self._name!r} writes to {target!r} ({spec.kind.name.lower()}); modules with "
                    "side effects are not supported: compute a new tensor, as x + 1 instead of "
                    "x.add_(1)",
                    location=translation.location(self._nodes[spec.arg.name]),
                )

    def _add_argument(
        self, translation: Translation, argument: MakeArgument, spec: Any, node: Node
    ) -> None:
        kinds = self._torch.export.graph_signature.InputKind
        kind = {kinds.USER_INPUT: "input", kinds.PARAMETER: "parameter"}.get(spec.kind, "buffer")
        if kind != "input" and not node.users:
            return
        name = node.name if kind == "input" else spec.target
        try:
            out = out_of(node)
        except UnsupportedError as error:
            raise UnsupportedError(f"{self._name!r}, argument {name!r}: {error.message}") from None
        translation.set(node, argument(out, kind, name))

    def results(self, translation: Translation) -> dict[str, ark.Tensor]:
        """Returns the results that are tensors, by name; others are None or numbers."""
        tensors = self._torch.export.graph_signature.TensorArgument
        specs = self.exported.graph_signature.output_specs
        return {
            name: translation.tensor(self._nodes[spec.arg.name])
            for name, spec in zip(self._output_names(len(specs)), specs, strict=True)
            if isinstance(spec.arg, tensors)
        }

    def finish(self, translation: Translation) -> None:
        """Makes the results outputs of the open program."""
        results = self.results(translation)
        if not results:
            raise UnsupportedError(f"{self._name!r} returns no tensor")
        for name, tensor in results.items():
            ark.output(name, tensor)

    def _output_names(self, count: int) -> list[str]:
        """Returns the name of each result, from its path in the return value of ``forward``."""
        pytree = self._torch.utils._pytree
        tree = pytree.tree_unflatten(range(count), self.exported.call_spec.out_spec)
        leaves, _ = pytree.tree_flatten_with_path(tree)
        return [_output_name(path) for path, _ in leaves]


def _output_name(path: tuple[Any, ...]) -> str:
    """Returns the name of a result: ``output`` and its positions, or the keys that lead to it."""
    keys = [getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))) for key in path]
    is_named = keys and not isinstance(keys[0], int)
    return "_".join(str(key) for key in (keys if is_named else ["output", *keys]))


def _decompositions(torch: Any) -> Any:
    """Returns torch's default decompositions, without those of ops that ark supports."""
    table = torch.export.default_decompositions()
    translated = set(names())
    for op in [op for op in table if str(op) in translated]:
        table.pop(op)
    return table
