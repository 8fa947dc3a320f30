"""Replacements for functions of NVIDIA's device library, for machines without it.

Each function that the lowering calls is one instruction, except sine, cosine and powers, which
`ark-expand-math` expands.
"""

from __future__ import annotations

from .. import ir
from ..passmanager import PassManager

_ONE = "(%a: f32) -> f32"
_TWO = "(%a: f32, %b: f32) -> f32"
_THREE = "(%a: f32, %b: f32, %c: f32) -> f32"
_FUNCTIONS = {
    "__nv_fabsf": (_ONE, "math.absf %a : f32"),
    "__nv_sqrtf": (_ONE, "math.sqrt %a : f32"),
    "__nv_sinf": (_ONE, "math.sin %a : f32"),
    "__nv_cosf": (_ONE, "math.cos %a : f32"),
    "__nv_copysignf": (_TWO, "math.copysign %a, %b : f32"),
    "__nv_powf": (_TWO, "math.powf %a, %b : f32"),
    "__nv_fmaf": (_THREE, "math.fma %a, %b, %c : f32"),
    # LLVM's generic intrinsics for these do not map to instructions of NVIDIA GPUs.
    "__nv_exp2f": (_ONE, 'llvm.call_intrinsic "llvm.nvvm.ex2.approx"(%a) : (f32) -> f32'),
    "__nv_rsqrtf": (_ONE, 'llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%a) : (f32) -> f32'),
}
_PASSES = (
    "builtin.module(func.func(ark-expand-math{library=false}),convert-math-to-llvm,"
    "convert-arith-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts)"
)


def define_functions(module: ir.Operation) -> None:
    """Defines the functions that a ``gpu.module`` declares, if this module has a replacement."""
    declared = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in module.regions[0].blocks[0]
        if op.operation.name == "llvm.func" and not op.operation.regions[0].blocks
    }
    missing = [name for name in _FUNCTIONS if name in declared]
    with module.context, ir.Location.unknown():
        texts = [_text(name) for name in missing]
        made = ir.Module.parse("\n".join(texts))
        PassManager.parse(_PASSES).run(made.operation)  # pyright: ignore[reportUnknownMemberType]
        for function in list(made.body):
            function.operation.detach_from_parent()
            module.regions[0].blocks[0].append(function)
    for name in missing:
        declared[name].erase()


def _text(name: str) -> str:
    signature, value = _FUNCTIONS[name]
    return (
        f"func.func @{name}{signature} attributes {{llvm.linkage = #llvm.linkage<internal>, "
        f"always_inline}} {{ %r = {value} return %r : f32 }}"
    )
