# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx942 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
# RUN: %PYTHON% %s gfx950 %t.co
# RUN: llvm-readobj --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co | FileCheck %s
"""A decode step with many bodies spills no register. Bodies keep nothing from one work item to the
next: no constant of a body lies in a register in front of the loop over work items.
"""

import sys
from pathlib import Path

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode

config = DecoderConfig(
    vocabulary=4096,
    hidden=2048,
    layers=2,
    heads=32,
    kv_heads=8,
    head=64,
    intermediate=8192,
    positions=256,
    eps=1e-5,
    theta=500000.0,
    tied=True,
)
program = build_decode(config, max_length=256)
executable = ark.compile(program, target=f"hip:{sys.argv[1]}")
Path(sys.argv[2]).write_bytes(executable.bundle.sections["kernel"])

# OBJECT: .agpr_count: 0
# OBJECT: .name: ark_kernel
# OBJECT: .private_segment_fixed_size: 0
# OBJECT: .sgpr_spill_count: 0
# OBJECT: .vgpr_count: {{[0-9][0-9]$|1[0-9][0-9]$}}
# OBJECT: .vgpr_spill_count: 0

# The first barrier is that of the wait for the doorbell, in the loops.
# CHECK-LABEL: <ark_kernel>:
# CHECK-NOT: s_mov_b32 s{{[0-9]+}}, 0x
# CHECK-NOT: v_writelane
# CHECK: s_barrier
# CHECK-NOT: v_writelane
