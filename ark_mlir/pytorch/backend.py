"""``torch.compile(module, backend="ark")``.

TorchDynamo passes a graph, and AOTAutograd lowers it to functional ATen ops. The ops that ark
supports are partitioned into as few parts as possible, and each part becomes a program. All other
ops run in eager PyTorch; the log gives the reasons.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from functorch.compile import (  # pyright: ignore[reportMissingTypeStubs]
    make_boxed_func,  # pyright: ignore[reportPrivateImportUsage]
)
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..compiler import CompileOptions, compile
from ..errors import CompileError, InvalidUsageError, UnsupportedError
from .aten import names
from .part import CompiledPart, Role, build_program
from .partition import PREFIX, bake_constants, find_problems, fuse
from .specialise import Specialised, is_dynamic
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
        options: ``target``, and the fields of ``ark.CompileOptions``, as in
            ``torch.compile(module, backend="ark", options={"target": "cpu:4"})``.
        mode: None or ``"default"``.

    A graph that needs gradients, or with tensors outside of host memory, runs in eager PyTorch as a
    whole; the logger ``ark.pytorch`` warns about it. Raises InvalidUsageError if an option does not
    exist, or the mode is another one.

    Example:
        >>> import torch
        >>> fast = torch.compile(torch.nn.Linear(64, 16).eval(), backend="ark")
        >>> with torch.no_grad():
        ...     fast(torch.zeros(4, 64)).shape
        torch.Size([4, 16])
    """
    if mode not in (None, "default"):
        raise InvalidUsageError(f"backend 'ark' has no mode {mode!r}; it takes options")
    chosen = dict(options or {})
    CompileOptions.make(None, {n: v for n, v in chosen.items() if n != "target"})
    tensors = [t for t in [*example_inputs, *module.parameters()] if isinstance(t, torch.Tensor)]
    if reason := _reason_against(tensors):
        _LOG.warning("torch.compile: %s; the graph runs in eager PyTorch", reason)
        return module.forward
    compiler = _Compiler(chosen)
    return aot_autograd(
        fw_compiler=compiler, inference_compiler=compiler, decompositions=_decompositions()
    )(module, example_inputs)


def _reason_against(tensors: Sequence[torch.Tensor]) -> str | None:
    devices = {t.device.type for t in tensors} - {"cpu"}
    if devices:
        return f"tensors are on {', '.join(sorted(devices))}, but ark reads host memory only"
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "gradients are enabled, but ark is for inference only (use torch.no_grad())"
    return None


def _decompositions() -> dict[Any, Any]:
    """Returns the core ATen decompositions, without those of ops that ark supports."""
    own = set(names())
    return {op: rule for op, rule in core_aten_decompositions().items() if str(op) not in own}


class _Compiler:
    """Compiles a graph of ATen ops to a callable."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options

    def __call__(self, module: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        context = TracingContext.try_get()
        metadata = None if context is None else context.fw_metadata
        static = frozenset(() if metadata is None else metadata.static_input_indices)
        if is_dynamic(example_inputs):
            compile_static = functools.partial(self.compile, static=static)
            return make_boxed_func(Specialised(module, compile_static))
        return make_boxed_func(self.compile(module, static))

    def compile(self, module: GraphModule, static: frozenset[int]) -> Callable[..., Any]:
        """Compiles the parts of a graph; `static` has the positions of its parameters."""
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
        for node in list(fused.graph.nodes):
            if node.op == "call_module" and node.target.startswith(PREFIX):
                self._compile_part(fused, node, parameters)
        return fused.forward

    def _compile_part(self, fused: GraphModule, call: Node, parameters: set[Node]) -> None:
        part: Any = fused.get_submodule(str(call.target))
        roles = [_role(fused, argument, parameters) for argument in call.args]
        try:
            program = build_program(part, str(call.target), roles)
            executable = compile(program, **self._options)
        except (CompileError, UnsupportedError) as error:
            _LOG.warning("torch.compile: %s; the part runs in eager PyTorch", error)
            return
        setattr(fused, str(call.target), CompiledPart(executable, part, roles))


def _role(module: GraphModule, argument: Any, parameters: set[Node]) -> Role:
    if argument.op == "get_attr":
        return getattr(module, str(argument.target))
    return "parameter" if argument in parameters else "input"
