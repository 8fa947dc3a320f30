"""The cpu backend, which translates the LLVM dialect to a shared object with LLVM alone."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from .. import ir
from .._mlir_libs import _ark  # noqa: TID251 - code generation is the extension's
from ..errors import InvalidUsageError
from .backend import Backend, Code
from .fingerprints import hash_files
from .linker import find_linker, link
from .target import Target, look_up

# Features that vectorised code can use. Other features would restrict the bundle to fewer
# processors without a benefit.
_USEFUL = {
    "x86_64": (
        "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "avx", "avx2", "bmi", "bmi2",
        "f16c", "fma", "lzcnt", "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq",
        "avx512vl", "avx512vnni", "avx512bf16", "avx512fp16",
    ),
    "aarch64": ("fullfp16", "dotprod", "lse", "rdm", "bf16", "i8mm", "sve"),
}  # fmt: skip
# Levels of the x86-64 psABI, each with the features that it adds to the previous level.
_LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


@dataclass(frozen=True)
class _Processor:
    """The processor for which code is generated."""

    triple: str
    arch: str
    features: tuple[str, ...]

    @property
    def vector_elements(self) -> int:
        """Returns the number of f32 elements of a vector register."""
        if "avx512f" in self.features:
            return 16
        return 8 if "avx2" in self.features else 4

    @property
    def llvm_features(self) -> str:
        return ",".join(f"+{name}" for name in self.features)


def _processor(cpu: str) -> _Processor:
    triple = _ark.host_triple()
    arch = triple.split("-", 1)[0]
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(arch, arch)
    if cpu == "host":
        _, text = _ark.host_cpu()
        have = {name[1:] for name in text.split(",") if name.startswith("+")}
        return _Processor(triple, arch, tuple(f for f in _USEFUL.get(arch, ()) if f in have))
    if cpu == "baseline":
        return _Processor(triple, arch, ())
    if arch == "x86_64" and cpu in _LEVELS:
        levels = list(_LEVELS)[: list(_LEVELS).index(cpu) + 1]
        return _Processor(triple, arch, tuple(f for level in levels for f in _LEVELS[level]))
    known = ["host", "baseline", *(_LEVELS if arch == "x86_64" else ())]
    raise InvalidUsageError(f"cpu={cpu!r} is not known; expected one of {', '.join(known)}")


class _Cpu:
    """The backend; see :class:`ark_mlir.targets.Backend` for its methods."""

    def detect(self, device: int = 0) -> Target:
        """Returns a target with one worker per core of this machine."""
        del device
        return look_up("cpu")

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns the option for the width of vectors."""
        return {"vector-elements": str(_processor(cpu).vector_elements)}

    def fingerprint(self, cpu: str) -> str:
        """Returns the features of the processor and the identity of the linker."""
        return f"{_processor(cpu)} {hash_files([Path(find_linker())])}"

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Returns a shared object that exports the entry and needs only the C and maths library."""
        del line_info
        processor = _processor(cpu)
        # The translation needs an ir.Module. Bytecode keeps the locations.
        bytecode = io.BytesIO()
        module.write_bytecode(bytecode)
        parent = ir.Module.parse(bytecode.getvalue(), module.context)
        code = _ark.translate_to_object(
            parent,
            triple=processor.triple,
            features=processor.llvm_features,
            opt_level=opt_level,
        )
        return Code(link(code), processor.arch, processor.features)


def make_backend() -> Backend:
    """Returns the backend."""
    return _Cpu()
