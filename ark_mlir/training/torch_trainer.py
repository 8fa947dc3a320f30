"""``ark.training.from_torch``: one program for the whole training step of a PyTorch module."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from .. import optim
from ..errors import InvalidUsageError, a_type, shorten
from ..frontend import Program, Tensor
from ..pytorch.aten import Out
from ..pytorch.importing import Importer
from ..pytorch.library import require_torch
from ..pytorch.tracing import export
from ..runtime import Executable
from ..runtime.arrays.dlpack import Exporter
from ..runtime.arrays.frameworks import to_numpy
from .loop import Loop
from .torch_optimizers import MakeOptimizer, make_optimizers, trained_parameters
from .trainer import Trainer

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords

__all__ = ["TorchBatch", "TorchTrainer", "from_torch"]

TorchBatch = Mapping[str, Any]
"""The tensors or arrays of one training step, by their names in the example."""
_OP = "ark.training.from_torch"
_MODEL = "model"  # the name of the module in the module that is exported


def from_torch(
    model: torch.nn.Module,
    loss: Callable[[Any, dict[str, Any]], torch.Tensor],
    example: Mapping[str, torch.Tensor],
    *,
    optimizer: torch.optim.Optimizer | MakeOptimizer,
    clip: float | None = None,
    steps: int = 16,
    target: str | None = None,
    **options: Unpack[CompileKeywords],
) -> TorchTrainer:
    """Compiles the whole training step of a PyTorch module to one program.

    The program has the forward pass, the loss, the backward pass and the optimizer. Weights and
    moments are states of the kernel, so that a launch runs many steps. The forward graph comes from
    ``torch.export``, and the backward pass from ``ark.gradients``, whose rules know fused ops such
    as ``ark.attention``; PyTorch's joint graph has lost them.

    Args:
        model: the module; its weights are the first values of the states. The module is exported as
            it is, in training mode or not. Dropout draws random numbers of ark, not those of
            PyTorch.
        loss: a function of the module and a batch, a dict of tensors, that returns the loss, a
            tensor of floats with one element.
        example: a batch, whose names, shapes and dtypes are those of all batches.
        optimizer: a new ``torch.optim.SGD``, ``Adam`` without weight decay, or ``AdamW``, with
            groups if need be; or a function that takes the weights as a list of tensors, and
            returns an optimizer of ``ark.optim`` or a list of those. Parameters that it does not
            get, and those without ``requires_grad``, keep their values.
        clip: the largest global norm of the gradients; None does not clip.
        steps: the largest number of steps of one launch.
        target: the target to compile for, such as ``"cpu"``, ``"cuda"`` or ``"hip"``.
        **options: options of ``ark.compile``.

    Raises:
        UnsupportedError: torch is not installed, ``torch.export`` cannot trace the module, ark
            lacks an op or the optimizer, or the module writes to a buffer.
        InvalidUsageError: an argument has a wrong type, the loss is not a scalar of floats, it does
            not depend on a parameter that is to be trained, or a parameter is not of floats.

    Example:
        >>> import torch
        >>> net = torch.nn.Linear(8, 1)
        >>> def loss(net, batch):
        ...     return torch.nn.functional.mse_loss(net(batch["x"]), batch["y"])
        >>> batch = {"x": torch.ones(4, 8), "y": torch.full((4, 1), 9.0)}
        >>> adam = torch.optim.Adam(net.parameters(), lr=0.01)
        >>> with ark.training.from_torch(net, loss, batch, optimizer=adam) as trainer:
        ...     losses = trainer.run([batch] * 20)
        ...     trainer.load_into(net)
        >>> bool(losses[-1] < losses[0])
        True
    """
    torch = require_torch(_OP)
    _check_arguments(torch, model, loss, example)
    weights = _Weights(model, trained_parameters(torch, model, optimizer))
    name = type(model).__name__
    exported = export(torch, _step_module(torch, model, loss), (), example, name)
    importer = Importer(torch, exported, name)
    with Program(name) as program:
        loop = Loop(steps)

        def argument(out: Out, kind: str, path: str) -> Tensor:
            if kind == "input":
                return loop.input(path, out.shape, out.dtype)
            return weights.tensor(out, path.removeprefix(f"{_MODEL}."))

        result = _scalar(importer.results(importer.translate(argument, loop.step)))
        states = weights.states()
        slopes = ark.gradients(result, list(states.values()))
        norm: Tensor | None = None
        if clip is not None:
            slopes, norm = optim.clip_by_global_norm(slopes, clip)
        known = dict(zip(states.values(), slopes, strict=True))
        skip = loop.end(result, norm)
        for each in make_optimizers(torch, optimizer, states):
            each.step([known[weight] for weight in each.weights], skip=skip)
    return TorchTrainer(program, loop, weights.names(), weights.values(), target, options)


def _check_arguments(torch: Any, model: Any, loss: Any, example: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        raise InvalidUsageError(f"model is {a_type(model)}, not an nn.Module", op=_OP)
    if not callable(loss):
        raise InvalidUsageError(
            f"loss is {a_type(loss)}; expected a function of the module and a batch", op=_OP
        )
    if not isinstance(example, Mapping) or not example:
        raise InvalidUsageError(
            f"example must be a dict of tensors that is not empty, not {shorten(example)}", op=_OP
        )
    for name, value in example.items():
        if not isinstance(value, torch.Tensor):
            raise InvalidUsageError(f"example[{name!r}] is {a_type(value)}, not a tensor", op=_OP)
    for name, parameter in model.named_parameters():
        if not parameter.dtype.is_floating_point:
            kind = str(parameter.dtype).removeprefix("torch.")
            raise InvalidUsageError(
                f"parameter {name!r} is {kind}, which has no gradient; make it a buffer", op=_OP
            )


def _step_module(torch: Any, model: Any, loss: Any) -> Any:
    """Returns a module that computes the loss of a batch, whose tensors are keyword arguments."""

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, **batch: Any) -> Any:
            return loss(self.model, batch)

    step = Step()
    step.training = model.training  # train() would change the module
    return step


def _scalar(results: Mapping[str, Tensor]) -> Tensor:
    """Returns the loss; raises InvalidUsageError if the results are not one scalar of floats."""
    found = list(results.values())
    if len(found) != 1 or found[0].size != 1 or not found[0].dtype.is_float:
        kinds = ", ".join(f"{tensor.dtype}{list(tensor.shape)}" for tensor in found)
        raise InvalidUsageError(
            f"loss must return one tensor of floats with one element, not {kinds or 'no tensor'}",
            op=_OP,
        )
    return found[0]


class _Weights:
    """The parameters and buffers of a module, and their tensors in the program.

    A parameter with several names, such as a tied embedding, has one tensor.
    """

    def __init__(self, model: Any, trained: Iterable[Any]) -> None:
        # In the order of the module, not of the optimizer.
        wanted = {id(p) for p in trained}
        self._trained = {id(p): name for name, p in model.named_parameters() if id(p) in wanted}
        if not self._trained:
            raise InvalidUsageError("the optimizer has no parameter to train", op=_OP)
        self._parameters = dict(model.named_parameters(remove_duplicate=False))
        self._held = {**dict(model.named_buffers(remove_duplicate=False)), **self._parameters}
        self._tensors: dict[int, Tensor] = {}
        self._values: dict[str, Any] = {}

    def tensor(self, out: Out, path: str) -> Tensor:
        """Returns the tensor of a parameter or buffer, which is made at the first call."""
        value = self._held[path]
        key = id(value)
        if key not in self._tensors:
            name = self._trained.get(key, path)
            make = ark.state if key in self._trained else ark.parameter
            self._tensors[key] = make(name, out.shape, out.dtype)
            self._values[name] = value.detach().cpu()
        return self._tensors[key]

    def states(self) -> dict[int, Tensor]:
        """Returns the states by the ``id`` of the parameter; raises InvalidUsageError if the loss
        does not read one."""
        for key, name in self._trained.items():
            if key not in self._tensors:
                raise InvalidUsageError(
                    f"the loss does not depend on the parameter {name!r}; freeze it with "
                    "requires_grad_(False)",
                    op=_OP,
                )
        return {key: self._tensors[key] for key in self._trained}

    def values(self) -> dict[str, Any]:
        """Returns the tensors of PyTorch to bind."""
        return self._values

    def names(self) -> dict[str, str]:
        """Returns the state of each trained parameter, by each of its names in the module."""
        return {
            name: self._trained[id(p)]
            for name, p in self._parameters.items()
            if id(p) in self._trained
        }


class TorchTrainer:
    """A compiled training step of a PyTorch module; :func:`from_torch` makes it.

    Attributes:
        program: the program of one step.
        executable: the compiled program, which holds weights and moments as states.

    Example:
        >>> torch_trainer.step == len(torch_trainer.losses)
        True
    """

    def __init__(
        self,
        program: Program,
        loop: Loop,
        weights: Mapping[str, str],
        values: Mapping[str, Any],
        target: str | None,
        options: Mapping[str, Any],
    ) -> None:
        self.program = program
        self._loop = loop
        self._weights = dict(weights)
        self._pending: list[dict[str, NDArray[Any]]] = []
        self._first = 0  # the number of the step of the first pending batch
        self._trainer = Trainer(
            program, loop, self._batch, target=target, bind=dict(values), **options
        )
        self.executable: Executable = self._trainer.executable

    def _batch(self, step: int) -> dict[str, NDArray[Any]]:
        return self._pending[step - self._first]

    @property
    def step(self) -> int:
        """Returns the number of steps so far."""
        return self._trainer.step

    @property
    def losses(self) -> list[float]:
        """Returns the loss of each step since step zero."""
        return self._trainer.losses

    def run(self, batches: Iterable[TorchBatch]) -> NDArray[np.float32]:
        """Runs a step for each batch, and returns their losses.

        Args:
            batches: dicts of tensors or arrays, with the names, shapes and dtypes of the example.

        Raises InvalidUsageError if a batch differs from the example; the message names the step,
        and the steps of earlier launches are done. Raises DeviceError if a loss is NaN or infinite;
        the weights are then those before that step. Also raises the errors of ``Executable.run``.

        >>> import torch
        >>> net, batch = torch.nn.Linear(4, 1), {"x": torch.ones(2, 4)}
        >>> sgd = torch.optim.SGD(net.parameters(), lr=0.05)
        >>> loss = lambda net, batch: net(batch["x"]).square().mean()
        >>> with ark.training.from_torch(net, loss, batch, optimizer=sgd) as trainer:
        ...     trainer.run([batch] * 3).shape
        (3,)
        """
        if isinstance(batches, Mapping):
            raise InvalidUsageError(
                "batches must be a list of batches, not one batch; pass [batch]"
            )
        losses: list[NDArray[np.float32]] = []
        remaining = iter(batches)
        while chunk := list(itertools.islice(remaining, self._loop.steps)):
            self._first = self.step
            self._pending = [
                _arrays(batch, self._first + number) for number, batch in enumerate(chunk)
            ]
            losses.append(self._trainer.run(len(chunk)))
        return np.concatenate(losses) if losses else np.zeros(0, np.float32)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns a copy of the trained parameters, by their names in the module.

        >>> sorted(torch_trainer.state_dict())
        ['bias', 'weight']
        """
        torch = require_torch(_OP)
        arrays = self._trainer.state_arrays()
        return {
            name: torch.from_dlpack(Exporter(arrays[state]))
            for name, state in self._weights.items()
        }

    def load_into(self, model: torch.nn.Module) -> None:
        """Copies the trained parameters to a module, such as the one that was compiled.

        Args:
            model: a module with the parameters that were trained; others keep their values.

        Raises InvalidUsageError if the module lacks one, or it has another shape; the module is
        then unchanged.

        >>> import torch
        >>> net, batch = torch.nn.Linear(4, 1), {"x": torch.ones(2, 4)}
        >>> sgd = torch.optim.SGD(net.parameters(), lr=0.05)
        >>> loss = lambda net, batch: net(batch["x"]).square().mean()
        >>> with ark.training.from_torch(net, loss, batch, optimizer=sgd) as trainer:
        ...     losses = trainer.run([batch] * 3)
        ...     trainer.load_into(net)
        >>> bool(loss(net, batch) < losses[-1])
        True
        """
        torch = require_torch(_OP)
        trained = self.state_dict()
        parameters = dict(model.named_parameters(remove_duplicate=False))
        for name, value in trained.items():
            if name not in parameters or parameters[name].shape != value.shape:
                has = f"is {list(parameters[name].shape)}" if name in parameters else "is missing"
                raise InvalidUsageError(
                    f"parameter {name!r} {has} in the module, {list(value.shape)} in the program"
                )
        with torch.no_grad():
            for name, value in trained.items():
                parameters[name].copy_(value)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all states and losses to a file; see :meth:`ark_mlir.training.Trainer.save`.

        Args:
            path: the ``.safetensors`` file.

        >>> torch_trainer.save("net.safetensors")
        """
        self._trainer.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads the states of a file that :meth:`save` wrote; see
        :meth:`ark_mlir.training.Trainer.load`.

        Args:
            path: the ``.safetensors`` file.

        >>> torch_trainer.save("net.safetensors")
        >>> torch_trainer.load("net.safetensors")
        """
        self._trainer.load(path)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes the loss curve; see :meth:`ark_mlir.training.Trainer.plot`.

        Args:
            path: the ``.html`` file.

        >>> torch_trainer.plot("net.html")
        """
        self._trainer.plot(path)

    def close(self) -> None:
        """Frees the memory of the executable; may be called again.

        >>> import torch
        >>> net, batch = torch.nn.Linear(4, 1), {"x": torch.ones(2, 4)}
        >>> sgd = torch.optim.SGD(net.parameters(), lr=0.05)
        >>> loss = lambda net, batch: net(batch["x"]).square().mean()
        >>> ark.training.from_torch(net, loss, batch, optimizer=sgd).close()
        """
        self._trainer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _arrays(batch: TorchBatch, step: int) -> dict[str, NDArray[Any]]:
    """Returns a batch as arrays.

    Raises InvalidUsageError if a value is not a tensor or an array.
    """
    if not isinstance(batch, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError(f"the batch of step {step} is {a_type(batch)}, not a dict")
    return {
        name: to_numpy(_on_host(value), f"the batch of step {step}: {name!r}")
        for name, value in batch.items()
    }


def _on_host(value: Any) -> Any:
    return value.detach().cpu() if hasattr(value, "detach") else value
