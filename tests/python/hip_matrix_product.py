# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx942 %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx950 %t.co && llvm-readobj --notes %t.co | FileCheck %s --check-prefix=LDS
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co \
# RUN:   | FileCheck %s --check-prefix=COPY
"""A product of matrices uses MFMA, and keeps all accumulators in registers. Loads of a stage are in
flight while the warps multiply an earlier one. On gfx950, loads to LDS fill the stages.
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

# On gfx950, three stages of 32 KiB.
# LDS: .agpr_count: 0
# LDS: .group_segment_fixed_size: {{98[0-9][0-9][0-9]$|99[0-9][0-9][0-9]$}}
# LDS: .name: ark_kernel
# LDS: .private_segment_fixed_size: 0
# LDS: .sgpr_spill_count: 0
# LDS: .vgpr_count: {{[0-9][0-9]$|1[0-9][0-9]$|2[0-5][0-9]$}}
# LDS: .vgpr_spill_count: 0

# The loop waits for the eight copies of a stage, while the eight copies of the next one are in
# flight. Addresses of a copy are a pointer in scalar registers and a distance of 32 bits.
# COPY: v_mfma_f32_32x32x
# COPY-NOT: vmcnt(0)
# COPY: s_waitcnt vmcnt(8)
# COPY-NEXT: s_barrier
# COPY-NOT: vmcnt(0)
# COPY: global_load_lds_dwordx4 v{{[0-9]+}}, s[{{[0-9]+:[0-9]+}}]
# COPY-NOT: ds_write
# COPY-NOT: vmcnt(0)
# COPY: ds_read_b128
# COPY-NOT: ds_write
# COPY-NOT: vmcnt(0)
# COPY: s_cmp{{k?}}_lt_u32
# COPY: s_cbranch
