# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx942 %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx950 %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
"""A product of matrices uses MFMA, and keeps all accumulators in registers. Loads of a stage are in
flight while the warps multiply an earlier one.
"""

import sys
from pathlib import Path

import ark_mlir as ark

with ark.Program("product") as program, ark.planner(tile=(128, 128)):
    x = ark.input("x", (256, 4096), ark.bf16)
    w = ark.parameter("w", (128, 4096), ark.bf16)
    ark.output("y", ark.relu(ark.matmul(x, w, transpose_other=True)))
executable = ark.compile(program, target=f"hip:{sys.argv[1]}")
Path(sys.argv[2]).write_bytes(executable.bundle.sections["kernel"])

# All accumulators have vector registers: none is moved to and from accumulation registers.
# OBJECT: .agpr_count: 0
# OBJECT: .group_segment_fixed_size: {{[3-9][0-9][0-9][0-9][0-9]}}
# OBJECT: .name: ark_kernel
# OBJECT: .private_segment_fixed_size: 0
# OBJECT: .sgpr_spill_count: 0
# OBJECT: .vgpr_count: {{[0-9][0-9]$|1[0-9][0-9]$|2[0-5][0-9]$}}
# OBJECT: .vgpr_spill_count: 0

# The loop over stages: reads of shared memory are 16 bytes wide. The warps multiply while loads of
# the next two stages are in flight, and wait for the older ones only.
# CHECK: v_mfma_f32_32x32x
# CHECK-NOT: vmcnt(0)
# CHECK: s_waitcnt vmcnt({{[1-9]}})
# CHECK-NEXT: ds_write_b128
# CHECK-NOT: vmcnt(0)
# CHECK: s_barrier
# CHECK-NOT: vmcnt(0)
# CHECK: global_load_dwordx4
# CHECK-NOT: vmcnt(0)
# CHECK: ds_read_b128
# CHECK-NOT: vmcnt(0)
# CHECK: s_cmp{{k?}}_lt_u32
# CHECK: s_cbranch
