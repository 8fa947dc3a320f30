"""``ark.Module``: parameters and submodules under hierarchical names, as in PyTorch."""

# The type of the elements of a list that a user assigns is unknown.
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, from_numpy
from ..errors import InvalidUsageError
from .program import Argument
from .shapes import invalid
from .tensor import Tensor

__all__ = ["Module", "ModuleList", "constructing"]

_DEPTH: ContextVar[int] = ContextVar("ark_module_depth", default=0)


def constructing() -> bool:
    """Returns True while the constructor of a module runs."""
    return _DEPTH.get() > 0


class _Constructed(type):
    """A metaclass that counts the constructors of modules that are running."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        token = _DEPTH.set(_DEPTH.get() + 1)
        try:
            return super().__call__(*args, **kwargs)
        finally:
            _DEPTH.reset(token)


class Module(metaclass=_Constructed):
    """A part of a model: parameters, states, submodules, and a method ``forward``.

    Assignment to an attribute registers a parameter, state, module or list of modules. The name of
    a parameter or state is the path of attributes that leads to its module, followed by the name
    in its declaration, such as ``layers.0.weight``. ``program.parameters``, ``state_dict`` and
    ``Executable.bind`` use that name. A name that contains a dot gets no prefix.

    Example:
        >>> class Linear(ark.Module):
        ...     def __init__(self, inputs, outputs):
        ...         super().__init__()
        ...         self.weight = ark.parameter("weight", (outputs, inputs))
        ...
        ...     def forward(self, x):
        ...         return ark.matmul(x, self.weight, transpose_other=True)
    """

    def __init__(self) -> None:
        self._prepare()

    def _prepare(self) -> None:
        # A subclass may assign attributes before it calls this class's __init__, or never call it.
        if "_modules" not in self.__dict__:
            empty: dict[str, Any] = {"_modules": {}, "_arguments": {}, "_arrays": {}}
            for name, value in {**empty, "_parent": None}.items():
                object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        self._prepare()
        self._unregister(name)
        if isinstance(value, (list, tuple)) and _holds_modules(value):
            value = ModuleList(value)
        if isinstance(value, Module):
            self._adopt(name, value)
        argument = value.argument if isinstance(value, Tensor) else None
        if argument is not None and argument.kind in ("parameter", "state"):
            self._register(name, argument)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._unregister(name)
        object.__delattr__(self, name)

    def _unregister(self, name: str) -> None:
        self._arguments.pop(name, None)
        module = self._modules.pop(name, None)
        if module is not None and module._parent == (self, name):
            object.__setattr__(module, "_parent", None)

    def _adopt(self, name: str, module: Module) -> None:
        module._prepare()
        self._modules[name] = module
        # A module that two parents share keeps the path through the first.
        if module._parent is None and module is not self:
            object.__setattr__(module, "_parent", (self, name))

    def _register(self, name: str, argument: Argument) -> None:
        self._arguments[name] = argument
        if argument.owner is None:
            argument.owner = self

    # Declared for type checkers; set by _prepare.
    _modules: dict[str, Module]
    _arguments: dict[str, Argument]
    _arrays: dict[str, NDArray[Any]]
    _parent: tuple[Module, str] | None

    # ---------------------------------------------------------------- calling

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result from the arguments of the call.

        A subclass must define this method. The method of ``ark.Module`` raises NotImplementedError.

        >>> class Double(ark.Module):
        ...     def forward(self, x):
        ...         return x + x
        >>> with ark.Program("double"):
        ...     y = ark.output("y", Double()(ark.input("x", (2, 3))))
        >>> y.shape
        (2, 3)
        """
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls ``forward``. The names of ops that it creates begin with the module's path."""
        from .program import current

        path = ".".join(self.path())
        with current(type(self).__name__).scope(path) if path else nullcontext():
            return self.forward(*args, **kwargs)

    # ---------------------------------------------------------------- names

    def path(self) -> list[str]:
        """Returns the names of the attributes that lead from the outermost module to this one.

        >>> net = ark.Module()
        >>> net.inner = ark.Module()
        >>> net.inner.path()
        ['inner']
        """
        self._prepare()
        if self._parent is None:
            return []
        parent, name = self._parent
        return [*parent.path(), name]

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Yields the path and the module for this module and all its submodules, once each.

        >>> class Net(ark.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = ark.Module()
        >>> [path for path, module in Net().named_modules()]
        ['', 'inner']
        """
        seen: set[int] = set()

        def visit(module: Module, path: str) -> Iterator[tuple[str, Module]]:
            if id(module) in seen:
                return
            seen.add(id(module))
            module._prepare()
            yield path, module
            for name, child in module._modules.items():
                yield from visit(child, f"{path}.{name}" if path else name)

        yield from visit(self, "")

    def named_parameters(self) -> Iterator[tuple[str, Argument]]:
        """Yields the name and the parameter for each parameter of this module and its submodules.

        A shared parameter is yielded once. A parameter that ``ark.trainable`` made a state is
        yielded, too.

        >>> with ark.Program("net"):
        ...     net = ark.Module()
        ...     net.bias = ark.parameter("bias", (3,))
        ...     y = ark.output("y", net.bias + 1)
        >>> [(name, parameter.shape) for name, parameter in net.named_parameters()]
        [('bias', (3,))]
        """
        seen: set[int] = set()
        for _, module in self.named_modules():
            for argument in module._arguments.values():
                is_parameter = argument.kind == "parameter" or argument.trained
                if is_parameter and id(argument) not in seen:
                    seen.add(id(argument))
                    yield argument.name, argument

    def parameters(self) -> list[Argument]:
        """Returns the parameters of this module and of all modules below it.

        >>> with ark.Program("net"):
        ...     net = ark.Module()
        ...     net.bias = ark.parameter("bias", (3,))
        ...     y = ark.output("y", net.bias + 1)
        >>> [parameter.shape for parameter in net.parameters()]
        [(3,)]
        """
        return [parameter for _, parameter in self.named_parameters()]

    # ---------------------------------------------------------------- values

    def state_dict(self) -> dict[str, NDArray[Any] | None]:
        """Returns the arrays that ``load_state_dict`` stored, by parameter name; None for a
        parameter without an array.

        >>> with ark.Program("net"):
        ...     net = ark.Module()
        ...     net.bias = ark.parameter("bias", (3,))
        ...     y = ark.output("y", net.bias + 1)
        >>> net.state_dict()
        {'bias': None}
        """
        root = self._root()
        return {name: root._arrays.get(name) for name, _ in self.named_parameters()}

    def load_state_dict(self, arrays: Mapping[str, Any], strict: bool = True) -> None:
        """Stores the arrays to bind to the parameters, by name.

        Args:
            arrays: numpy arrays, or values that ``numpy.asarray`` takes (torch tensors, DLPack).
            strict: True if missing and unknown names are errors.

        An array of floats is converted to a parameter's float dtype. Raises InvalidUsageError if a
        shape differs, if dtypes differ and one of them is not a float type, or if `strict` is True
        and a name is missing or unknown.

        >>> class Bias(ark.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.bias = ark.parameter("bias", (3,))
        >>> with ark.Program("net"):
        ...     net = Bias()
        ...     y = ark.output("y", net.bias + 1)
        >>> net.load_state_dict({"bias": np.ones(3)})
        >>> net.state_dict()["bias"].dtype
        dtype('float32')
        """
        expected = dict(self.named_parameters())
        missing = [name for name in expected if name not in arrays]
        unknown = [name for name in arrays if name not in expected]
        if strict and (missing or unknown):
            problems = [f"missing {', '.join(missing)}"] if missing else []
            problems += [f"unknown {', '.join(unknown)}"] if unknown else []
            raise invalid(
                "arrays do not match the parameters of the module: "
                + "; ".join(problems)
                + "; strict=False ignores this"
            )
        root = self._root()
        loaded = {n: _checked(n, a, arrays[n]) for n, a in expected.items() if n in arrays}
        root._arrays.update(loaded)

    def _root(self) -> Module:
        self._prepare()
        return self if self._parent is None else self._parent[0]._root()


class ModuleList(Module):
    """A list of modules; the path of an element ends in its index.

    A list or tuple of modules becomes a ModuleList when it is assigned to an attribute of a
    module. Create a ModuleList explicitly if modules are appended after the assignment.

    Example:
        >>> class Scale(ark.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = ark.parameter("factor", (64,))
        ...
        ...     def forward(self, x):
        ...         return x * self.factor
        >>> with ark.Program("scales") as program:
        ...     x = ark.input("x", (4, 64))
        ...     for layer in ark.ModuleList([Scale(), Scale()]):
        ...         x = layer(x)
        ...     y = ark.output("y", x)
        >>> sorted(program.parameters)
        ['0.factor', '1.factor']
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        object.__setattr__(self, "_items", [])
        for module in modules:
            self.append(module)

    _items: list[Module]

    def append(self, module: Module) -> None:
        """Appends `module`, whose path ends in its index.

        >>> layers = ark.ModuleList()
        >>> layers.append(ark.Module())
        >>> len(layers)
        1
        """
        self._adopt(str(len(self._items)), module)
        self._items.append(module)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Module:
        return self._items[index]


def _holds_modules(values: Iterable[object]) -> bool:
    items = list(values)
    return bool(items) and all(isinstance(item, Module) for item in items)


def _checked(name: str, argument: Argument, value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if tuple(array.shape) != argument.shape:
        raise InvalidUsageError(
            f"parameter {name!r} has shape {list(argument.shape)}, but its array has shape "
            f"{list(array.shape)}",
            location=argument.location,
        )
    return _converted(name, array, argument.dtype)


def _converted(name: str, array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    if array.dtype == dtype.numpy:
        return array
    source = from_numpy(array.dtype)
    if dtype.is_float and (array.dtype == np.float64 or (source is not None and source.is_float)):
        return array.astype(dtype.numpy)
    raise invalid(f"parameter {name!r} is {dtype}, but its array is {array.dtype}")
