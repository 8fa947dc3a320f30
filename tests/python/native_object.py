# REQUIRES: bindings_python, x86-registered-target
# RUN: %PYTHON% %s | FileCheck %s
"""LLVM must neither end the process on input that it cannot compile, nor silently compile for
another processor than the requested one.
"""

import threading

from ark_mlir import ir
from ark_mlir._mlir_libs import _ark

ADD = """
llvm.func @add(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %n = llvm.mlir.constant(1024 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %px = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %py = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.load %px : !llvm.ptr -> f32
  %b = llvm.load %py : !llvm.ptr -> f32
  %c = llvm.fadd %a, %b : f32
  llvm.store %c, %py : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ult" %next, %n : i64
  llvm.cond_br %more, ^loop(%next : i64), ^done
^done:
  llvm.return
}
"""
X86 = "x86_64-pc-linux-gnu"


def run(function):
    print("Test:", function.__name__)
    with ir.Context():
        function()


def refuse(text, **options):
    try:
        _ark.translate_to_object(ir.Module.parse(text), **{"triple": X86, **options})
        print("accepted")
    except ir.MLIRError as error:
        print(error.error_diagnostics[0].message)


# CHECK-LABEL: Test: objects_are_elf
# CHECK: b'\x7fELF'
# CHECK: bytes
@run
def objects_are_elf():
    code = _ark.translate_to_object(ir.Module.parse(ADD), triple=X86)
    print(code[:4])
    print(type(code).__name__)


# CHECK-LABEL: Test: loops_are_vectorised_for_the_features_given
# CHECK: baseline ymm: False
# CHECK: avx2 ymm: True
# CHECK: cpu ymm: True
# CHECK: unoptimised ymm: False
@run
def loops_are_vectorised_for_the_features_given():
    module = ir.Module.parse(ADD)
    for name, options in {
        "baseline": {},
        "avx2": {"features": "+avx2"},
        "cpu": {"cpu": "haswell"},
        "unoptimised": {"cpu": "haswell", "opt_level": 0},
    }.items():
        text = _ark.translate_to_assembly(module, triple=X86, **options)
        print(f"{name} ymm:", "ymm" in text)


# CHECK-LABEL: Test: the_host_is_accepted
# CHECK: True
@run
def the_host_is_accepted():
    name, features = _ark.host_cpu()
    print(bool(_ark.translate_to_object(ir.Module.parse(ADD), cpu=name, features=features)))


# CHECK-LABEL: Test: llvm_ir
# CHECK: define void @add
# CHECK: <4 x float>
@run
def llvm_ir():
    module = ir.Module.parse(ADD)
    print(_ark.translate_to_llvm_ir(module).splitlines()[3])
    print(_ark.optimize_to_llvm_ir(module, triple=X86))


# CHECK-LABEL: Test: bad_targets_are_refused
# CHECK: no LLVM target for triple 'bogus-x-y'
# CHECK: LLVM knows no cpu 'pentium99'
# CHECK: LLVM knows no feature '+nope'
# CHECK: LLVM knows no feature 'avx2'
# CHECK: opt_level is 4
@run
def bad_targets_are_refused():
    refuse(ADD, triple="bogus-x-y")
    refuse(ADD, cpu="pentium99")
    refuse(ADD, features="+nope")
    refuse(ADD, features="avx2")
    try:
        _ark.translate_to_object(ir.Module.parse(ADD), opt_level=4)
    except ValueError as error:
        print(error)


# CHECK-LABEL: Test: other_dialects_are_refused
# CHECK: cannot be converted to LLVM IR
@run
def other_dialects_are_refused():
    refuse("func.func private @f()")


# The second input causes a fatal error in LLVM's instruction selection, which must not end the
# process: a third module compiles afterwards.
# CHECK-LABEL: Test: errors_inside_llvm_are_exceptions
# CHECK: invalid instruction mnemonic 'bogus'
# CHECK: Cannot select: intrinsic %llvm.nvvm.sqrt.rn.d
# CHECK: accepted
@run
def errors_inside_llvm_are_exceptions():
    refuse(
        """llvm.func @f() {
          llvm.inline_asm "bogus", "" : () -> ()
          llvm.return
        }"""
    )
    refuse(
        """llvm.func @f(%a: f64) -> f64 {
          %0 = llvm.call_intrinsic "llvm.nvvm.sqrt.rn.d"(%a) : (f64) -> f64
          llvm.return %0 : f64
        }"""
    )
    refuse(ADD)


# CHECK-LABEL: Test: threads
# CHECK: sizes: 1
@run
def threads():
    sizes = set()

    def work():
        with ir.Context():
            for _ in range(5):
                sizes.add(len(_ark.translate_to_object(ir.Module.parse(ADD), triple=X86)))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("sizes:", len(sizes))
