"""Recording of a graph for fixed sizes.

``make_fx`` of PyTorch changes variables of the process while it traces: a call of a compiled
function in another thread would then fail. A recorder changes only the calling thread, so that a
background thread can record a graph while other threads call it. It reads no data of a tensor.
"""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ..interruption import checkpoint
from .axes import Refusal

__all__ = ["Description", "NotRecorded", "Recorder", "Walker", "describe"]

# The keys of the metadata of a node that name the Python line and the module of its op.
_ORIGIN = ("stack_trace", "nn_module_stack")
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class NotRecorded(Refusal):
    """The reason why a graph cannot be recorded; ``make_fx`` traces such a graph."""


@dataclass(frozen=True)
class Description:
    """The shape, strides, dtype and device of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


def describe(argument: Any) -> Any:
    """Returns the Description of a tensor, and any other argument as it is.

    Raises NotRecorded if the tensor has no strides, as sparse tensors.
    """
    if not isinstance(argument, torch.Tensor):
        return argument
    if argument.layout != torch.strided:
        raise NotRecorded(f"a tensor of layout {argument.layout}")
    shape, strides = tuple(argument.shape), tuple(argument.stride())
    return Description(shape, strides, argument.dtype, argument.device)


class Walker(torch.fx.Interpreter):
    """Runs a graph node by node; `node` is the present one.

    Unlike its base class, it does not store the metadata of the node in variables of the process.
    Raises NotRecorded at an op that takes graphs, such as ``torch.cond``.
    """

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.extra_traceback = False  # the message of an error suffices
        self.node: Any = None

    def run_node(self, n: Any) -> Any:
        checkpoint()
        if isinstance(n.target, HigherOrderOperator):  # PyTorch gives it to no unknown mode
            raise NotRecorded(f"{n.target}, which is not an op of ATen")
        self.node = n
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)


class Recorder:
    """Records the ATen ops of a run of a graph in a new graph.

    Arguments that are tensors become placeholders in the order of the calls of `placeholder`.

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: x * 2)
        >>> recorder = Recorder()
        >>> x = recorder.placeholder(describe(torch.zeros(3)))
        >>> [node.name for node in recorder.run(Walker(module), [x]).graph.nodes]
        ['arg0_1', 'mul', 'output']
    """

    def __init__(self) -> None:
        self._fake = FakeTensorMode(
            allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True
        )
        self._mode = _Mode(self._fake)

    def placeholder(self, description: Any) -> Any:
        """Returns the value of a new argument: a tensor without data, or the number given."""
        value = description
        if isinstance(description, Description):
            with unset_fake_temporarily(), self._fake:
                value = torch.empty_strided(
                    description.shape,
                    description.strides,
                    dtype=description.dtype,
                    device=description.device,
                )
        self._mode.add_placeholder(value)
        return value

    def run(self, walker: Walker, arguments: Sequence[Any]) -> torch.fx.GraphModule:
        """Runs `walker` and returns the graph of its ops.

        Raises NotRecorded if an op takes a number that is known at run time only, or is not an op
        of ATen.
        """
        self._mode.walker = walker
        with torch.no_grad(), unset_fake_temporarily(), self._fake, self._mode:
            results = walker.run(*arguments)
        return self._mode.finish(results)


def _has_tensor(values: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(values))


def _lacks_results(func: Any, args: Any, kwargs: Any) -> bool:
    """Returns True for an op on tensors without results, such as an assertion."""
    return not func._schema.returns and _has_tensor((args, kwargs))  # noqa: SLF001


class _Mode(TorchDispatchMode):
    """Adds a node for each op that PyTorch dispatches."""

    def __init__(self, fake: FakeTensorMode) -> None:
        super().__init__()
        self.walker: Walker | None = None
        self._fake = fake
        self._root = torch.nn.Module()
        self._graph = torch.fx.Graph()
        self._placeholders = 0
        # The tensors stay alive, so that no other one has the id of an earlier one.
        self._nodes: dict[int, tuple[torch.Tensor, torch.fx.Node]] = {}

    def add_placeholder(self, value: Any) -> None:
        node = self._graph.placeholder(f"arg{self._placeholders}_1")
        self._placeholders += 1
        self._set(node, value)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        del types
        kwargs = dict(kwargs or {})
        if func is torch.ops.prim.device.default:
            return func(*args, **kwargs)
        with self:  # ops that PyTorch composes of others are recorded as the others
            composed = func.decompose(*args, **kwargs)
        if composed is not NotImplemented:
            return composed
        given, named = pytree.tree_map(self._argument, (tuple(args), kwargs))
        result = func(*args, **kwargs)
        if _has_tensor(result) or _lacks_results(func, args, kwargs):
            name = func.overloadpacket.__name__  # as make_fx does; the log names nodes
            node = self._graph.create_node("call_function", func, given, named, name)
            self._set(node, result)
            self._set_items(node, result)
        return result

    def _argument(self, value: Any) -> Any:
        if isinstance(value, _SYMBOLS):
            raise NotRecorded("a number that is known at run time only")
        if not isinstance(value, torch.Tensor):
            return value
        known = self._nodes.get(id(value))
        return self._constant(value) if known is None else known[1]

    def _constant(self, value: torch.Tensor) -> torch.fx.Node:
        """Adds a tensor with data, which the graph's module holds."""
        if isinstance(value, FakeTensor):
            raise NotRecorded("a tensor that no recorded op returned")
        name = f"_tensor_constant{len(list(self._root.buffers()))}"
        self._root.register_buffer(name, value, persistent=False)
        node = self._graph.get_attr(name)
        self._set(node, value)
        node.meta["val"] = self._fake.from_tensor(value)
        return node

    def _set(self, node: torch.fx.Node, value: Any) -> None:
        node.meta["val"] = value
        origin = {} if self.walker is None or self.walker.node is None else self.walker.node.meta
        node.meta.update({key: origin[key] for key in _ORIGIN if key in origin})
        if isinstance(value, torch.Tensor):
            self._nodes[id(value)] = value, node

    def _set_items(self, node: torch.fx.Node, result: Any) -> None:
        if not isinstance(result, (list, tuple)):
            return
        for index, item in enumerate(result):
            if item is not None:
                found = self._graph.call_function(operator.getitem, (node, index))
                self._set(found, item)
                self._set_items(found, item)

    def finish(self, results: Any) -> torch.fx.GraphModule:
        """Returns the graph with these results."""
        self._graph.output(pytree.tree_map(self._argument, results))
        return torch.fx.GraphModule(self._root, self._graph)
