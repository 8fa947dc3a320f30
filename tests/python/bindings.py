# REQUIRES: bindings_python
# RUN: %PYTHON% %s | FileCheck %s
"""All extensions must use one copy of MLIR. With two copies the ark dialect registers, but its ops
lack traits, interfaces and passes.
"""

import subprocess
import sys

from ark_mlir import ir
from ark_mlir.dialects import ark
from ark_mlir.passmanager import PassManager


def run(function):
    print("Test:", function.__name__)
    with ir.Context(), ir.Location.unknown():
        function()


# CHECK-LABEL: Test: upstream_dialects_are_importable
# CHECK: arith.constant
@run
def upstream_dialects_are_importable():
    from ark_mlir.dialects import affine, arith, builtin, cf, func, gpu, llvm, math, memref  # noqa: F401, I001
    from ark_mlir.dialects import nvgpu, nvvm, rocdl, scf, tensor, vector  # noqa: F401

    with ir.InsertionPoint(ir.Module.create().body):
        print(arith.constant(ir.F32Type.get(), 1.0).owner)


def argument(name, kind):
    return ir.DictAttr.get(
        {"ark.kind": ir.Attribute.parse(f"#ark.kind<{kind}>"), "ark.name": ir.StringAttr.get(name)}
    )


# Verification looks for the symbol table trait of builtin.module.
# CHECK-LABEL: Test: ops_build_and_verify
# CHECK: ark.program @p
# CHECK: ark.gelu
# CHECK-SAME: tanh
@run
def ops_build_and_verify():
    module = ir.Module.create()
    tensor = ir.RankedTensorType.get([4, 64], ir.F32Type.get())
    with ir.InsertionPoint(module.body):
        program = ark.ProgramOp(
            "p",
            ir.TypeAttr.get(ir.FunctionType.get([tensor], [tensor])),
            arg_attrs=ir.ArrayAttr.get([argument("x", "input")]),
            res_attrs=ir.ArrayAttr.get([ir.DictAttr.get({"ark.name": ir.StringAttr.get("y")})]),
        )
    block = program.body.blocks.append(tensor)
    with ir.InsertionPoint(block):
        gelu = ark.gelu(block.arguments[0], approximate=ark.GeluApproximation.Tanh)
        ark.return_([gelu])
    module.operation.verify()
    print(module)


# CHECK-LABEL: Test: enums_become_attributes
# CHECK: reduction max
# CHECK: handoff packet
@run
def enums_become_attributes():
    print(ir.AttrBuilder.get("Ark_ReductionKindAttr")(ark.ReductionKind.Max, ir.Context.current))
    print(ir.AttrBuilder.get("Ark_HandoffKindAttr")(ark.HandoffKind.Packet, ir.Context.current))


# CHECK-LABEL: Test: passes_run_by_name
# CHECK-NOT: arith.addi
# CHECK: arith.constant 2
@run
def passes_run_by_name():
    module = ir.Module.parse(
        """
        func.func @f() -> i32 {
          %one = arith.constant 1 : i32
          %two = arith.addi %one, %one : i32
          return %two : i32
        }
        """
    )
    PassManager.parse("builtin.module(canonicalize)").run(module.operation)
    print(module)


# CHECK-LABEL: Test: diagnostics_are_exceptions
# CHECK: MLIRError: Unable to parse module assembly
# CHECK-NEXT: custom op 'ark.nothing' is unknown
@run
def diagnostics_are_exceptions():
    try:
        ir.Module.parse("ark.nothing")
    except ir.MLIRError as error:
        print("MLIRError:", error.message)
        print(error.error_diagnostics[0].message)


# The runtime must work without MLIR.
# CHECK-LABEL: Test: importing_the_package_leaves_the_bindings_alone
# CHECK: loaded: []
@run
def importing_the_package_leaves_the_bindings_alone():
    code = "import ark_mlir, sys; print('loaded:', [m for m in sys.modules if '_mlir_libs' in m])"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
