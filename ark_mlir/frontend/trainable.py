"""``ark.trainable``: makes the parameters of a module states, which a program can update."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from ..dtypes import fp32
from ..errors import InvalidUsageError, shorten
from .module import Module
from .ops import cast
from .program import Argument, current
from .shapes import invalid
from .tensor import Tensor

__all__ = ["trainable"]

_OP = "ark.trainable"


def trainable(module: Module, masters: bool = False) -> list[Tensor]:
    """Makes the parameters of `module`, and of all modules below it, states of the program.

    Returns the states in the order of ``module.named_parameters()``. The states keep the names of
    the parameters, so that ``Executable.bind`` gives them their initial values; without values they
    are zeros. ``module.parameters()`` and ``module.state_dict()`` have them as before.

    Args:
        module: a module of the open program, before its first call.
        masters: True keeps each parameter of a narrow float type as an fp32 state. The module then
            reads the state, rounded to the type of the parameter: small updates are not lost.

    Raises InvalidUsageError if `module` is not a module with parameters of the open program, or if,
    with `masters`, an op has read such a parameter already.

    Example:
        >>> class Linear(ark.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = ark.parameter("weight", (64, 8))
        ...
        ...     def forward(self, x):
        ...         return x @ self.weight
        >>> layer = Linear()
        >>> weights = ark.trainable(layer)
        >>> slopes = ark.gradients(ark.reduce_mean(layer(x) ** 2.0, keepdims=False), weights)
        >>> ark.optim.SGD(weights, lr=0.1).step(slopes)
    """
    program = current(_OP)
    if not isinstance(module, Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"module must be an ark.Module, not {shorten(module)}", _OP)
    states: dict[Argument, Tensor] = {}
    for _, part in module.named_modules():
        for name, value in list(vars(part).items()):
            argument = value.argument if isinstance(value, Tensor) else None
            if argument is None or argument.kind != "parameter":
                continue
            if value.program is not program:
                raise invalid(
                    f"parameter {argument.name!r} belongs to program {value.program.name!r}, "
                    f"not to {program.name!r}",
                    _OP,
                )
            wide = masters and argument.dtype.is_float and argument.dtype.itemsize < 4
            states[argument] = _as_state(value, argument, widened=wide)
            read = states[argument]
            if wide:
                read = cast(read, value.dtype, name=argument.name)
            # Not through __setattr__, which would register the tensor again.
            object.__setattr__(part, name, read)
    if not states:
        raise invalid(
            f"the module {type(module).__name__} has no parameters; assign results of "
            "ark.parameter to its attributes",
            _OP,
        )
    return [states[argument] for argument in module.parameters() if argument in states]


def _as_state(tensor: Tensor, argument: Argument, *, widened: bool) -> Tensor:
    value = tensor.value
    if widened:
        if list(value.uses):
            raise InvalidUsageError(
                f"an op has read parameter {argument.name!r} already; call ark.trainable before "
                "the module",
                location=argument.location,
                op=_OP,
            )
        value.set_type(tensor.program.tensor_type(argument.shape, fp32))
        argument.dtype = fp32
    argument.kind = "state"
    argument.trained = True
    tensor.program.add_version(value, argument)
    state = Tensor(tensor.program, value, argument.given, argument)
    state.argument = argument
    return state
