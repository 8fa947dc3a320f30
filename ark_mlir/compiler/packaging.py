"""Conversion of the ``ark.kernel`` op to manifest and sections of a bundle (docs/bundle.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ir
from ..backends import backend_info
from ..bundle.footprints import dense_strides
from ..bundle.format import MAX_INTERMEDIATES, MAX_SLOTS, VERSION
from ..dtypes import from_mlir
from ..errors import CompileError, UnsupportedError
from ..mlir.locations import describe
from ..targets import Code, Target
from .options import CompileOptions

# Section, attribute of the kernel, and element type.
_TABLES: dict[str, tuple[str, type[np.generic]]] = {
    "instructions": ("instructions", np.int32),
    "lanes": ("lanes", np.int32),
    "tasks": ("task_table", np.int32),
    "operands": ("operands", np.int64),
    "timeline": ("timeline", np.int64),
}
_ALIGNMENT = 64

# Entries of the manifest's target that come from the kernel op.
_OF_TARGET = frozenset({"sms", "shared_memory"})


@dataclass(frozen=True)
class Parts:
    """A bundle without its code."""

    manifest: dict[str, Any]
    sections: dict[str, bytes]
    target: Target

    def finish(self, code: Code, mlir: str | None) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Returns manifest and sections with the code, and with `mlir` unless it is None."""
        machine = {
            "backend": self.target.backend,
            "arch": code.arch,
            "features": list(code.features),
            "sms": self.manifest["sms"],
            "warps": self.target.warps,
            "shared_memory": self.manifest["shared_memory"],
        }
        manifest = {key: value for key, value in self.manifest.items() if key not in _OF_TARGET}
        sections = {"kernel": code.image, **self.sections}
        if mlir is not None:
            sections["mlir"] = mlir.encode()
        manifest["statistics"] = {**manifest["statistics"], **code.statistics}
        options = dict(manifest["options"])
        if code.assembler:
            options["assembler"] = code.assembler
        info = backend_info(self.target.backend)
        if info.notifies_start:
            options["clears_queued"] = True
        if info.is_gpu and self.manifest.get("ranks", 1) > 1:
            options["far_signals"] = True
        manifest["options"] = options
        return {**manifest, "target": machine}, sections


def take_kernel(
    module: ir.Operation, target: Target, options: CompileOptions, shares_device: bool = False
) -> Parts:
    """Removes the ``ark.kernel`` op from a module, and returns the bundle without its code.

    Args:
        module: the module after the stage `target`.
        target: the machine of each rank.
        options: the options of the compilation.
        shares_device: True if all ranks share one GPU.

    Raises CompileError if the module has no such op, and UnsupportedError if the kernel exceeds a
    limit of the bundle format.
    """
    kernel = next(_kernels(module), None)
    if kernel is None:
        raise CompileError(
            "the module has no ark.program, so that there is no kernel",
            location=describe(module.location),
        )
    _check_limits(kernel)
    constants = bytearray()
    manifest = {
        "format": VERSION,
        "producer": _producer(),
        "program": _text(kernel, "program"),
        "entry": ir.FlatSymbolRefAttr(kernel.attributes["entry"]).value,
        "sms": _plain(kernel.attributes["sms"]),
        "shared_memory": _shared_memory(kernel, target),
        "arena": _plain(kernel.attributes["arena"]),
        "buffers": [_buffer(item, constants) for item in _array(kernel, "buffers")],
        "tasks": [_dictionary(item) for item in _array(kernel, "tasks")],
        "bodies": [_body(item) for item in _array(kernel, "bodies")],
        "intermediates": _triples(kernel.attributes["intermediates"]),
        "semaphores": [_dictionary(item) for item in _array(kernel, "semaphores")],
        **{
            name: _plain(kernel.attributes[name])
            for name in ("ranks", "packets")
            if name in kernel.attributes
        },
        **_domains(module),
        "statistics": _dictionary(kernel.attributes["statistics"]),
        "options": _options(options, shares_device),
    }
    sections = {
        name: _table(kernel.attributes[attribute], dtype)
        for name, (attribute, dtype) in _TABLES.items()
    }
    sections["constants"] = bytes(constants)
    kernel.erase()
    return Parts(manifest, sections, target)


def _domains(module: ir.Operation) -> dict[str, Any]:
    """Returns the entries ``domains`` and ``network`` of the manifest; none if all ranks are in one
    domain. NCCL's network has no entry."""
    if "ark.domains" not in module.attributes:
        return {}
    domains = _plain(module.attributes["ark.domains"])
    if len(set(domains)) == 1:
        return {}
    result: dict[str, Any] = {"domains": domains}
    if "ark.network" in module.attributes:
        network = _plain(module.attributes["ark.network"])
        result |= {"network": network} if network != "nccl" else {}
    return result


def _check_limits(kernel: ir.Operation) -> None:
    """Raises UnsupportedError if the kernel has more values than a bundle can declare.

    Readers of bundles refuse such a file, so the check comes before the machine code is made.
    """
    sizes = (
        ("intermediates", len(_triples(kernel.attributes["intermediates"])), MAX_INTERMEDIATES),
        ("buffers", len(_array(kernel, "buffers")), MAX_SLOTS - 1),
    )
    for name, number, limit in sizes:
        if number > limit:
            raise UnsupportedError(
                f"the kernel has {number} {name} on all ranks; a bundle can declare {limit}",
                location=describe(kernel.location),
                notes=["compile fewer ranks, or a program of fewer ops, such as fewer layers"],
            )


def _shared_memory(kernel: ir.Operation, target: Target) -> int:
    """Returns the kernel's shared memory per SM, or the target's if the kernel declares none."""
    if "shared_memory" in kernel.attributes:
        return _plain(kernel.attributes["shared_memory"])
    return target.shared_memory


def _kernels(module: ir.Operation) -> Iterator[ir.Operation]:
    for op in module.regions[0].blocks[0]:
        if op.operation.name == "ark.kernel":
            yield op.operation


def _producer() -> str:
    from .. import __version__

    return f"ark {__version__}"


def _options(options: CompileOptions, shares_device: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "trace": options.trace,
        "verify": options.verify,
        "cpu": options.cpu,
        "opt_level": options.opt_level,
    }
    if options.scheduler is not None:
        result["scheduler"] = options.scheduler
    if options.collectives is not None:
        result["collectives"] = options.collectives
    if not options.packets:
        result["packets"] = False
    if options.memory is not None:
        result["memory"] = options.memory
    if shares_device:
        result["shares_device"] = True
    return result


def _buffer(attribute: ir.Attribute, constants: bytearray) -> dict[str, Any]:
    entry = ir.DictAttr(attribute)
    memref = ir.MemRefType(ir.TypeAttr(entry["type"]).value)
    dtype = from_mlir(str(memref.element_type))
    result: dict[str, Any] = {
        "name": _plain(entry["name"]),
        "kind": _plain(entry["kind"]),
        "dtype": dtype.name,
        "shape": list(memref.shape),
        "bytes": _plain(entry["bytes"]),
        # The default is the natural alignment of an element.
        "alignment": _plain(entry["alignment"]) if "alignment" in entry else dtype.itemsize,
    }
    if "max" in entry:
        result["max"] = _plain(entry["max"])
    if result["kind"] == "state":
        result["init"] = _plain(entry["init"]) if "init" in entry else 0
    if "stop" in entry:
        result["stop"] = _plain(entry["stop"])
    if "data" in entry:
        constants.extend(bytes(-len(constants) % _ALIGNMENT))
        result["offset"] = len(constants)
        constants.extend(np.array(ir.DenseIntElementsAttr(entry["data"])).tobytes())
    return result


def _body(attribute: ir.Attribute) -> dict[str, Any]:
    entry = ir.DictAttr(attribute)
    result: dict[str, Any] = {
        "name": ir.FlatSymbolRefAttr(entry["function"]).value,
        "footprints": [
            [_operand(operand) for operand in ir.ArrayAttr(footprint)]
            for footprint in ir.ArrayAttr(entry["footprints"])
        ],
    }
    if "stamps" in entry:
        result["stamps"] = _plain(entry["stamps"])
    return result


def _operand(attribute: ir.Attribute) -> dict[str, Any]:
    """Returns an operand of a footprint, without fields that have the value of a dense operand."""
    entry = ir.DictAttr(attribute)
    dtype = from_mlir(str(ir.TypeAttr(entry["element"]).value))
    result = _dictionary(attribute, but="element")
    implied: dict[str, Any] = {
        "strides": list(dense_strides(tuple(result["shape"]))),
        "begin": 0,
        "alignment": dtype.itemsize,
    }
    return {
        "dtype": dtype.name,
        **{name: value for name, value in result.items() if implied.get(name, ...) != value},
    }


def _triples(attribute: ir.Attribute) -> list[list[int]]:
    numbers = list(ir.DenseI64ArrayAttr(attribute))
    return [numbers[index : index + 3] for index in range(0, len(numbers), 3)]


def _table(attribute: ir.Attribute, dtype: type[np.generic]) -> bytes:
    elements = ir.DenseIntElementsAttr(attribute)
    return np.array(elements, dtype).tobytes() if len(elements) else b""


def _array(op: ir.Operation, name: str) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(op.attributes[name]))


def _text(op: ir.Operation, name: str) -> str:
    return ir.StringAttr(op.attributes[name]).value


def _dictionary(attribute: ir.Attribute, but: str = "") -> dict[str, Any]:
    return {item.name: _plain(item.attr) for item in ir.DictAttr(attribute) if item.name != but}


def _plain(attribute: ir.Attribute) -> Any:
    """Returns an attribute as a JSON value: a string, a number, or a list."""
    if isinstance(attribute, ir.StringAttr | ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(item) for item in attribute]
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    raise CompileError(f"{attribute} cannot be stored in a bundle")
