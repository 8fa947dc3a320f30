# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a int8 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=GFX90A
# RUN: %PYTHON% %s gfx942 int8 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=GFX942
# RUN: %PYTHON% %s gfx950 int8 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=GFX950
# RUN: %PYTHON% %s gfx950 fp8_e4m3 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=FP8
"""Products of operands of 8 bits use MFMA, and spill no registers."""

import sys
from pathlib import Path

import ark_mlir as ark

dtype = getattr(ark, sys.argv[2])
options = {"out_dtype": ark.int32} if dtype is ark.int8 else {}
with ark.Program("product") as program, ark.planner(tile=(256, 128)):
    x = ark.input("x", (256, 4096), dtype)
    w = ark.parameter("w", (128, 4096), dtype)
    ark.output("y", ark.matmul(x, w, transpose_other=True, **options))
executable = ark.compile(program, target=f"hip:{sys.argv[1]}")
Path(sys.argv[3]).write_bytes(executable.bundle.sections["kernel"])

# OBJECT: .name: ark_kernel
# OBJECT: .private_segment_fixed_size: 0
# OBJECT: .sgpr_spill_count: 0
# OBJECT: .vgpr_spill_count: 0

# GFX90A: v_mfma_i32_32x32x8i8
# GFX942: v_mfma_i32_32x32x16_i8
# GFX950: v_mfma_i32_32x32x32_i8
# FP8: v_mfma_f32_32x32x16_fp8_fp8
