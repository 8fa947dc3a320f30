"""Kernels for AMD GPUs in the form that :mod:`emulation.lower` understands.

Intrinsics get names that lower.py replaces by calls. Atomic accesses become lines of PTX with the
same order and scope, since LLVM's memory model for AMD GPUs has the same scopes: CTA, GPU, system.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ark_mlir.targets import Code, Target
from ark_mlir.targets.gpu_module import take_gpu_module

from .host_code import compile_kernel
from .lower import Lowered, lower

if TYPE_CHECKING:
    from pathlib import Path

    from ark_mlir import ir

TOOLS = ("mlir-translate-22", "opt-22")
WARP_SIZE = 64

_TRIPLE = "amdgcn-amd-amdhsa"
_ORDERS = {"monotonic": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
_SCOPES = {"workgroup": "cta", "agent": "gpu", None: "sys"}
_SCOPE = r'(?: syncscope\("(?P<scope>\w+)"\))?'
_LOAD = re.compile(
    rf"= load atomic (?P<type>i32|i64), (?P<at>ptr.*?){_SCOPE} (?P<order>\w+), align [48]"
)
_STORE = re.compile(
    rf"store atomic (?P<value>(?P<type>i32|i64) \S+), (?P<at>ptr.*?){_SCOPE} (?P<order>\w+), .*"
)
_ADD = re.compile(
    rf"= atomicrmw add (?P<at>ptr.*?), (?P<value>(?P<type>i64) \S+?){_SCOPE} "
    r"(?P<order>\w+), align 8"
)
_SWAP = re.compile(
    rf"(?P<name>%[\w.]+) = cmpxchg (?P<at>ptr.*?), (?P<old>i64 \S+), (?P<new>i64 \S+?){_SCOPE} "
    r"(?P<order>\w+) \w+, align 8"
)
_FENCE = re.compile(rf"fence{_SCOPE} \w+")
_OPAQUE = re.compile(
    r'= (?:tail )?call (i\d+) asm sideeffect "", "=[vs],0[^"]*"\(i\d+ ([^)]*)\)(?: #\d+)?'
)
# Optimisations have used this metadata before.
_SCOPES_OF_COPIES = re.compile(r", !(?:alias\.scope|noalias) !\d+")

# A wait for loads. The emulation has loaded the values before.
_AWAIT = re.compile(r'call void asm sideeffect "", "v(?:,v)*"')


def rewrite(text: str) -> str:
    """Returns the LLVM IR of a kernel for AMD GPUs in the form that ``lower`` takes.

    Raises ValueError for an atomic access of another kind than those of ark's kernels.
    """
    text = text.replace("@llvm.amdgcn.", "@llvm.nvvm.amdgcn.").replace("amdgpu_kernel ", "")
    lines = [_rewrite_line(line) for line in text.splitlines()]
    return "\n".join(lines)


def _rewrite_line(line: str) -> str:
    line = _OPAQUE.sub(r"= add \1 \2, 0", line)
    line = _SCOPES_OF_COPIES.sub("", line)
    if _AWAIT.search(line):
        return ""
    if found := _FENCE.search(line):
        # Barriers of the CTA order the accesses of its threads. Fences at the scope of a wave bind
        # compilers only.
        if found["scope"] in ("workgroup", "wavefront"):
            return ""
        return f'  call void asm sideeffect "fence.acq_rel.{_scope(found)};", ""()'
    if found := _LOAD.search(line):
        return line[: found.start()] + _call(found["type"], "ld", found, found["at"])
    if found := _STORE.search(line):
        return f"  {_call('void', 'st', found, found['at'], found['value'])[2:]}"
    if found := _ADD.search(line):
        return line[: found.start()] + _call("i64", "atom", found, found["at"], found["value"])
    if found := _SWAP.search(line):
        return _swap(found)
    if re.search(r"\b(?:atomicrmw|cmpxchg|atomic)\b", line) and "%" in line:
        raise ValueError(f"the emulation lacks this access: {line.strip()}")
    return line


def _scope(found: re.Match[str]) -> str:
    return _SCOPES[found["scope"]]


def _call(result: str, op: str, found: re.Match[str], *operands: str) -> str:
    change = {"ld": "", "st": "", "atom": ".add"}[op]
    text = f"{op}.{_ORDERS[found['order']]}.{_scope(found)}.global{change}.b{found['type'][1:]}"
    return f'= call {result} asm sideeffect "{text}", ""({", ".join(operands)})'


def _swap(found: re.Match[str]) -> str:
    name, old = found["name"], found["old"]
    before, equal, half = (f"%{part}.{name[1:]}" for part in ("before", "equal", "half"))
    text = f"atom.{_ORDERS[found['order']]}.{_scope(found)}.global.cas.b64"
    operands = ", ".join((found["at"], old, found["new"]))
    pair = "{ i64, i1 }"
    return "\n".join(
        (
            f'  {before} = call i64 asm sideeffect "{text}", ""({operands})',
            f"  {equal} = icmp eq i64 {before}, {old.removeprefix('i64 ')}",
            f"  {half} = insertvalue {pair} poison, i64 {before}, 0",
            f"  {name} = insertvalue {pair} {half}, i1 {equal}, 1",
        )
    )


@dataclass
class HipToolchain:
    """Compiles a kernel for AMD GPUs to host code instead of a code object.

    With `keeps_votes`, LLVM drops no vote of a wave.
    """

    library: Path
    folder: Path
    races: bool
    keeps_votes: bool = False
    text: str = ""
    lowered: Lowered = field(default_factory=Lowered)

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """See :meth:`ark_mlir.targets.Backend.emit`."""
        del cpu, opt_level, line_info
        target = Target.parse(str(module.attributes["ark.target"]))
        self.text = self._to_llvm(module, target.arch)
        self.lowered = lower(rewrite(self.text), (), self.races)
        image = compile_kernel(self.lowered, self.library, self.folder)
        return Code(image, target.arch, ())

    def _to_llvm(self, module: ir.Operation, arch: str) -> str:
        """Returns the optimised IR from which LLVM makes the code object.

        LLVM may keep a value of shared memory in a register during a loop, and then loads it in
        threads that do not run the loop, too. They do not use it, but the loads would be races.

        LLVM takes a load by a wave from one address for one value, and drops votes on it. Threads
        of the emulation load one after the other, and may see different values: `keeps_votes`.
        """
        translate = [TOOLS[0], "--mlir-to-llvmir", "-"]
        options = ["-O3", "-disable-licm-promotion", f"-mtriple={_TRIPLE}", f"-mcpu={arch}"]
        if self.keeps_votes:
            options.append("-amdgpu-enable-uniform-intrinsic-combine=false")
        optimise = [TOOLS[1], *options, "-S", "-"]
        text = str(take_gpu_module(module))
        for command in (translate, optimise):
            done = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
            text = done.stdout
        return text
