"""``torch.compile(module, backend="ark")``.

TorchDynamo passes a graph, and AOTAutograd lowers it to functional ATen ops. If a result needs
gradients, AOTAutograd makes a graph of the forward pass and one of the backward pass, and both are
compiled. The ops that ark supports are partitioned into as few subgraphs as possible, and each
subgraph becomes a program. All other ops run in eager PyTorch; the log gives the reasons.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from functorch.compile import (  # pyright: ignore[reportMissingTypeStubs]
    make_boxed_func,  # pyright: ignore[reportPrivateImportUsage]
)
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import CompileContext, TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..compiler import CompileOptions, compile
from ..errors import CompileError, InvalidUsageError, UnsupportedError
from .capturing import Captured
from .decompositions import decompositions
from .devices import device_of, options_for, reason_against
from .lanes import compile_subgraph
from .partition import PREFIX, bake_constants, find_problems, fuse
from .specialise import Padded, Specialised, is_dynamic
from .subgraph import CompiledSubgraph, Role, build_program
from .translate import describe

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

__all__ = ["backend"]

_LOG = logging.getLogger("ark.pytorch")


def backend(
    module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compiles a graph; ``torch.compile(backend="ark")`` calls it for every graph.

    Args:
        options: ``target``, the fields of ``ark.CompileOptions``, ``sizes`` and ``new_sizes``, as
            in ``torch.compile(module, backend="ark", options={"target": "cpu:4"})``. By default the
            target is the device of the tensors: the host, or a GPU of NVIDIA or AMD. A program on
            the host that takes at most 100 µs and has at most 64 KiB of buffers then has one lane,
            and the calling thread runs it. A target of ARK_TARGET is taken as it is. With
            ``sizes="padded"``, the default, sizes that change are padded to the next of 4, 6, 8,
            12, 16, 24 and so on where the ops permit it; with ``"exact"``, each size is compiled.
            With ``new_sizes="background"``, the default, a thread compiles the program of a new
            size; calls run in PyTorch, or in the program of a larger size, until it is ready. With
            ``"wait"``, the first call of a new size waits for its program. With
            dynamic sizes, only the first compilation of a function or ``forward`` waits, whichever
            dtype, mode and module it is for.
        mode: ``"reduce-overhead"`` records the graph in a CUDA or HIP graph if its tensors are on a
            GPU. Other modes of PyTorch have no effect, and the logger warns about them.

    If a result needs gradients, the first call of ``backward`` compiles the backward pass. A graph
    with tensors on several devices runs in eager PyTorch as a whole; the logger ``ark.pytorch``
    warns about it. Raises InvalidUsageError if an option does not exist.

    Example:
        >>> import torch
        >>> linear = torch.nn.Linear(64, 16)
        >>> fast = torch.compile(linear, backend="ark")
        >>> fast(torch.zeros(4, 64)).sum().backward()
        >>> linear.bias.grad.sum()
        tensor(64.)
    """
    chosen = dict(options or {})
    sizes = chosen.pop("sizes", "padded")
    if sizes not in ("padded", "exact"):
        raise InvalidUsageError(f"option sizes={sizes!r}: expected 'padded' or 'exact'")
    new_sizes = chosen.pop("new_sizes", "background")
    if new_sizes not in ("background", "wait"):
        raise InvalidUsageError(f"option new_sizes={new_sizes!r}: expected 'background' or 'wait'")
    CompileOptions.make(
        None,
        {n: v for n, v in chosen.items() if n != "target"},
        others=("target", "sizes", "new_sizes"),
    )
    tensors = [t for t in [*example_inputs, *module.parameters()] if isinstance(t, torch.Tensor)]
    if reason := reason_against(tensors, chosen):
        _LOG.warning("torch.compile: %s; the graph runs in eager PyTorch", reason)
        return module.forward
    device = device_of(tensors)
    assert device is not None
    captures = _captures(mode, device)
    lower_dynamic = functools.partial(
        Padded if sizes == "padded" else Specialised,
        waits=new_sizes == "wait",
        first_waits=not _is_traced_again(),
    )
    guarded = CompileContext.current_compile_id() is not None
    compiler = _Compiler(options_for(device, chosen), device, lower_dynamic, captures, guarded)
    lower = aot_autograd(
        fw_compiler=compiler.forward,
        bw_compiler=compiler.backward,
        inference_compiler=compiler.forward,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decompositions(),
    )
    with _known_attention(device):
        return lower(module, example_inputs)


def _is_traced_again() -> bool:
    """Returns True if TorchDynamo compiled the same code before, for whatever reason: for another
    length, another dtype or mode, or a module of the same class with other layers."""
    identity = CompileContext.current_compile_id()
    return identity is not None and bool(identity.frame_compile_id)


def _known_attention(device: torch.device) -> AbstractContextManager[Any]:
    """Returns a context in which PyTorch lowers attentions to an op that ark supports."""
    if device.type == "cpu":
        return nullcontext()
    return sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])


def _captures(mode: str | None, device: torch.device) -> bool:
    """Returns True if a mode of PyTorch requests CUDA graphs; warns about modes without effect."""
    if mode in (None, "default"):
        return False
    if mode == "reduce-overhead" and device.type == "cuda":
        return True
    _LOG.warning("torch.compile: mode=%r has no effect on %s", mode, device.type)
    return False


class _Compiler:
    """Compiles a graph of ATen ops to a callable."""

    def __init__(
        self,
        options: Mapping[str, Any],
        device: torch.device,
        lower_dynamic: Callable[..., Callable[..., Any]],
        captures: bool,
        guarded: bool,
    ) -> None:
        self._options = options
        self._device = device
        self._lower_dynamic = lower_dynamic
        self._captures = captures
        self._guarded = guarded

    def forward(self, module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """Compiles the graph of a forward pass, or of an inference."""
        context = TracingContext.try_get()
        metadata = None if context is None else context.fw_metadata
        static = frozenset(() if metadata is None else metadata.static_input_indices)
        return self._lower(module, example_inputs, static)

    def backward(self, module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """Compiles the graph of a backward pass.

        The arguments of the graph are saved tensors, some of which are parameters, and the
        gradients of the results. All are inputs, which a run reads in place as it does parameters.
        """
        return self._lower(module, example_inputs, frozenset())

    def _lower(
        self, module: GraphModule, example_inputs: Sequence[Any], static: frozenset[int]
    ) -> Callable[..., Any]:
        if is_dynamic(example_inputs):
            return make_boxed_func(self._lower_dynamic(module, self.compile, static))
        return make_boxed_func(self.compile(module, static))

    def compile(self, module: GraphModule, static: frozenset[int]) -> Callable[..., Any]:
        """Compiles the subgraphs of a graph; `static` has the positions of the parameters."""
        with unset_fake_temporarily():  # constants are real tensors
            return self._compile(module, static)

    def _compile(self, module: GraphModule, static: frozenset[int]) -> Callable[..., Any]:
        bake_constants(module)
        problems = find_problems(module)
        for line in describe(problems.values()):
            _LOG.warning("torch.compile: %s; runs in eager PyTorch", line)
        fused = fuse(module, problems)
        placeholders = [node for node in fused.graph.nodes if node.op == "placeholder"]
        parameters = {placeholders[i] for i in static}
        calls = [
            node
            for node in fused.graph.nodes
            if node.op == "call_module" and node.target.startswith(PREFIX)
        ]
        subgraphs = [self._compile_subgraph(fused, call, parameters) for call in calls]
        # Generates the function of the graph now. Its stand-in, which generates it when it is
        # called first, would pass each later call through four functions of PyTorch.
        _ = fused.code
        if not self._captures:
            return fused.forward
        compiled = [subgraph for subgraph in subgraphs if subgraph is not None]
        return Captured(fused.forward, static, lambda: _check(compiled))

    def _compile_subgraph(
        self, fused: GraphModule, call: Node, parameters: set[Node]
    ) -> CompiledSubgraph | None:
        """Replaces a subgraph by its executable; returns None if it stays with PyTorch."""
        subgraph: Any = fused.get_submodule(str(call.target))
        roles = [_role(fused, argument, parameters) for argument in call.args]
        try:
            program = build_program(subgraph, str(call.target), roles)
            executable = compile_subgraph(compile, program, subgraph, self._options)
        except (CompileError, UnsupportedError) as error:
            _LOG.warning("torch.compile: %s; the subgraph runs in eager PyTorch", error)
            return None
        compiled = CompiledSubgraph(
            executable, subgraph, roles, self._device, guarded=self._guarded
        )
        setattr(fused, str(call.target), compiled)
        return compiled


def _check(subgraphs: Iterable[CompiledSubgraph]) -> None:
    """Raises the error of the last replay of a CUDA graph."""
    for subgraph in subgraphs:
        subgraph.check()


def _role(module: GraphModule, argument: Any, parameters: set[Node]) -> Role:
    if argument.op == "get_attr":
        return getattr(module, str(argument.target))
    return "parameter" if argument in parameters else "input"
