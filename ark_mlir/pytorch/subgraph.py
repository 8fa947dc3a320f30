"""A compiled subgraph, which replaces a submodule of a graph."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .. import frontend as ark
from ..runtime.arrays.dlpack import Exporter
from .devices import is_readable
from .library import folder
from .translate import Node, Translation, out_of, refusal

if TYPE_CHECKING:
    from ..runtime import Executable

__all__ = ["CompiledSubgraph", "Role", "build_program"]


# Compares the addresses of tensors with numbers; PyTorch has the function in builds for GPUs.
equal_addresses: Callable[[list[torch.Tensor], list[int], list[int]], bool] | None = getattr(
    torch._C,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    "_tensors_data_ptrs_at_indices_equal",
    None,
)

# The role of an argument of a subgraph: "input", "parameter", or a constant tensor.
Role = str | torch.Tensor


def build_program(subgraph: torch.fx.GraphModule, name: str, roles: Sequence[Role]) -> ark.Program:
    """Builds the program of a subgraph.

    Args:
        roles: the role of each argument: ``"input"``, ``"parameter"``, or a constant tensor.

    Arguments have the names of the placeholders; results have the names ``0``, ``1`` and so on.
    """
    from .folding import Constants

    nodes = list(subgraph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    known = zip(placeholders, roles, strict=True)
    constants = Constants({n: role for n, role in known if isinstance(role, torch.Tensor)})
    with ark.Program(name) as program:
        translation = Translation(constants, folder(torch))
        for node, role in zip(placeholders, roles, strict=True):
            if isinstance(role, str):
                make = ark.parameter if role == "parameter" else ark.input
                out = out_of(node)
                translation.set(node, make(node.name, out.shape, out.dtype))
        for node in nodes:
            if node.op == "call_function":
                translation.add(node)
        if translation.problems:
            raise refusal(name, translation.problems.values())
        for number, node in enumerate(_results(nodes[-1])):
            ark.output(str(number), translation.tensor(node))
    return program


def _results(output: Node) -> Sequence[Node]:
    (value,) = output.args
    return value if isinstance(value, (list, tuple)) else (value,)


class CompiledSubgraph(torch.nn.Module):
    """A module that calls an executable in place of a subgraph of the graph.

    Parameters are bound in place at the first call, and again if a call passes other tensors or if
    ``tensor.data`` was replaced. A run sees later writes of an optimizer to a parameter. A
    parameter that was copied, because of its layout, is bound again after a write that PyTorch
    counts; it does not count writes through ``tensor.data``, which a run therefore does not see.
    The guards of TorchDynamo compare the strides of all parameters before a call; without
    TorchDynamo (`guarded` is False), each call compares them itself.
    Results have the strides of PyTorch's results, on which later ops may rely. On a GPU, inputs and
    results stay there, and a run is ordered with PyTorch's current stream.
    """

    def __init__(
        self,
        executable: Executable,
        subgraph: torch.fx.GraphModule,
        roles: Sequence[Role],
        device: torch.device,
        guarded: bool = False,
    ) -> None:
        super().__init__()
        self._guarded = guarded
        self._executable = executable
        self._device = device
        self._lock = threading.Lock()
        names = [node.name for node in subgraph.graph.nodes if node.op == "placeholder"]
        self._inputs = [(i, names[i]) for i, role in enumerate(roles) if role == "input"]
        self._bound_once = [(i, names[i]) for i, role in enumerate(roles) if role == "parameter"]
        self._take_parameters = _taker([index for index, _ in self._bound_once])
        # For each parameter an alias of the tensor that was bound, its address, whether it is
        # contiguous, and the strides of one that is not.
        self._aliases: list[torch.Tensor | None] = [None] * len(self._bound_once)
        self._addresses = [-1] * len(self._bound_once)
        self._dense = [True] * len(self._bound_once)
        self._numbers = list(range(len(self._bound_once)))
        self._strides: dict[int, tuple[int, ...]] = {}
        # The number of writes to each parameter of which a copy was bound.
        self._copies: dict[int, int | None] = {}
        output = list(subgraph.graph.nodes)[-1]
        self._single = not isinstance(output.args[0], (list, tuple))
        strides = [_strides(node.meta["val"]) for node in _results(output)]
        self._results = [(str(number), each) for number, each in enumerate(strides)]

    def forward(self, *arguments: torch.Tensor) -> Any:
        """Runs the subgraph and returns its results."""
        inputs = {name: self._ready(_plain(arguments[i])) for i, name in self._inputs}
        with self._lock:  # another thread may pass other parameters
            self._bind(arguments)
            outputs = self._executable.run(inputs)
        results = [_like(outputs[name], strides, self._device) for name, strides in self._results]
        return results[0] if self._single else tuple(results)

    # A call takes 3 µs less than that of a module with hooks, which this one does not have.
    __call__ = forward

    def check(self) -> None:
        """Raises the error of the last replay of a CUDA graph with this subgraph."""
        self._executable.check()

    def _ready(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a tensor that the kernel can read in place; on the host, a run makes the copy."""
        if not tensor.is_cuda or is_readable(tensor):
            return tensor
        return tensor.clone(memory_format=torch.contiguous_format)

    def _bind(self, arguments: Sequence[torch.Tensor]) -> None:
        """Binds the parameters whose memory is not that of the last call, and copies that are old.

        A call compares the addresses of all parameters, often hundreds, in one call of PyTorch if
        it is built for GPUs. Otherwise `map` reads them faster than a loop. Only tensors that are
        not contiguous have their strides compared: the strides of the others follow from the
        shape, and reading them allocates a tuple.
        """
        parameters = self._take_parameters(arguments)
        changed = self._moved(parameters)
        for number, strides in self._strides.items():
            if parameters[number].stride() != strides:
                changed.add(number)
        for number, version in self._copies.items():
            if version is None or version != _version(parameters[number]):
                changed.add(number)
        if changed:
            self._bind_again(sorted(changed), parameters)

    def _moved(self, parameters: Sequence[torch.Tensor]) -> set[int]:
        """Returns the numbers of the parameters with another address, or contiguous no longer."""
        if (
            self._guarded
            and equal_addresses is not None
            and equal_addresses(list(parameters), self._addresses, self._numbers)
        ):
            return set()
        addresses = list(map(torch.Tensor.data_ptr, parameters))
        if self._guarded and addresses == self._addresses:
            return set()
        dense = list(map(torch.Tensor.is_contiguous, parameters))
        if addresses == self._addresses and dense == self._dense:
            return set()
        known = zip(addresses, self._addresses, dense, self._dense, strict=True)
        return {n for n, (new, old, now, was) in enumerate(known) if new != old or now != was}

    def _bind_again(self, changed: Sequence[int], parameters: Sequence[torch.Tensor]) -> None:
        names = [name for _, name in self._bound_once]
        ready = {n: self._ready(parameters[n].detach()) for n in changed}
        self._executable.bind({names[number]: tensor for number, tensor in ready.items()})
        for number in changed:
            tensor = parameters[number]
            self._copies.pop(number, None)
            self._strides.pop(number, None)
            if not self._is_shared(names[number], tensor, ready[number]):
                self._copies[number] = _version(tensor)
            # The alias keeps its memory when `tensor.data` is replaced, as by `Module.to`, so that
            # no other tensor has its address.
            alias = self._aliases[number] = tensor.detach()
            self._addresses[number], self._dense[number] = alias.data_ptr(), alias.is_contiguous()
            if not self._dense[number]:
                self._strides[number] = alias.stride()

    def _is_shared(self, name: str, tensor: torch.Tensor, ready: torch.Tensor) -> bool:
        """Returns True if the kernel reads the memory of `tensor`, and not a copy."""
        if ready.is_cuda:
            return ready.data_ptr() == tensor.data_ptr()
        buffers = self._executable.bundle.manifest.parameters
        alignment = next(buffer.alignment for buffer in buffers if buffer.name == name)
        return tensor.is_contiguous() and tensor.data_ptr() % alignment == 0


def _taker(indices: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Returns a function that returns the items of a sequence at `indices`."""
    begin = indices[0] if indices else 0
    if list(indices) == list(range(begin, begin + len(indices))):
        return operator.itemgetter(slice(begin, begin + len(indices)))
    return operator.itemgetter(*indices)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the tensor without gradients."""
    return tensor.detach() if tensor.requires_grad else tensor


def _version(tensor: torch.Tensor) -> int | None:
    """Returns the number of writes to a tensor; None for inference tensors, which do not count
    writes."""
    return None if tensor.is_inference() else tensor._version


def _strides(value: torch.Tensor) -> tuple[int, ...] | None:
    """Returns the strides of a result, None if it is contiguous."""
    return None if value.is_contiguous() else tuple(value.stride())


def _like(value: Any, strides: tuple[int, ...] | None, device: torch.device) -> torch.Tensor:
    tensor = value
    if not isinstance(value, torch.Tensor):  # an executable without inputs returns numpy arrays
        tensor = torch.from_dlpack(Exporter(value))
    # A run returns results where its inputs are. All inputs of a part on a GPU may be tensors of
    # rank zero on the host.
    if tensor.device.type != device.type:
        tensor = tensor.to(device)
    if strides is None:
        return tensor
    # Along an expanded dimension, all indices have the same element.
    once = tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
    result = torch.empty_strided(once.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return result.copy_(once).expand(tensor.shape)
