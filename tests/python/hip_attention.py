# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a 64 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx942 64 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx942 80 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: %PYTHON% %s gfx942 96 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: %PYTHON% %s gfx942 128 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx950 128 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=LDS
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co \
# RUN:   | FileCheck %s --check-prefix=COPY
"""A causal attention of 128 rows uses MFMA for both products, and keeps all values in registers."""

import sys
from pathlib import Path

import ark_mlir as ark

depth = int(sys.argv[2])
with ark.Program("attention") as program, ark.planner(tile=(128, depth)):
    q = ark.input("q", (1, 8, 512, depth), ark.bf16)
    k = ark.input("k", (1, 2, 512, depth), ark.bf16)
    v = ark.input("v", (1, 2, 512, depth), ark.bf16)
    ark.output("y", ark.attention(q, k, v, causal=True))
executable = ark.compile(program, target=f"hip:{sys.argv[1]}")
Path(sys.argv[3]).write_bytes(executable.bundle.sections["kernel"])

# OBJECT: .group_segment_fixed_size: {{[1-3][0-9][0-9][0-9][0-9]$}}
# OBJECT: .name: ark_kernel
# OBJECT: .private_segment_fixed_size: 0
# OBJECT: .sgpr_spill_count: 0
# OBJECT: .vgpr_count: {{[0-9][0-9]$|[1-4][0-9][0-9]$}}
# OBJECT: .vgpr_spill_count: 0

# The loop with stages: the threads store a stage and load the next one, and meet. The exponentials
# lie between both products, and an exchange with the thread that has the other keys.
# CHECK: ds_write_b128
# CHECK: s_barrier
# CHECK: ds_read_b128
# CHECK: v_mfma_f32_32x32x
# CHECK: {{ds_bpermute|v_permlane32_swap}}
# CHECK: v_exp_f32
# CHECK: v_mfma_f32_32x32x

# On gfx950, three stages of 16 KiB.
# LDS: .group_segment_fixed_size: {{50[0-9][0-9][0-9]$}}
# LDS: .private_segment_fixed_size: 0
# LDS: .sgpr_spill_count: 0
# LDS: .vgpr_spill_count: 0

# Copies fill the stages, and those of the step after the next one are in flight.
# COPY: s_waitcnt vmcnt(4)
# COPY-NEXT: s_barrier
# COPY-NOT: ds_write_b128
# COPY: global_load_lds_dwordx4
# COPY-NOT: ds_write_b128
# COPY: v_exp_f32
# COPY: v_mfma_f32_32x32x
