# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a %t.gfx90a && llvm-readobj --notes %t.gfx90a | FileCheck %s
# RUN: %PYTHON% %s gfx942 %t.gfx942 && llvm-readobj --notes %t.gfx942 | FileCheck %s
# RUN: %PYTHON% %s gfx950 %t.gfx950 && llvm-readobj --notes %t.gfx950 | FileCheck %s
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.gfx90a > %t.gfx90a.s
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.gfx942 > %t.gfx942.s
# RUN: FileCheck %s --check-prefix=GFX90A --input-file=%t.gfx90a.s
# RUN: FileCheck %s --check-prefix=WAIT --input-file=%t.gfx942.s
# RUN: FileCheck %s --check-prefix=SIGNAL --input-file=%t.gfx942.s
# RUN: FileCheck %s --check-prefix=PACKET --input-file=%t.gfx942.s
"""Each rank has a GPU, and all kernels have the same code. Packets of ranks have the scope of the
system. A signal to another GPU writes the L2 back at that scope before it adds, and a signal within
a GPU at the scope of the GPU. A wait drops the lines of the L2 that other GPUs may have written.
"""

import sys
from pathlib import Path

import ark_mlir as ark

programs = []
for rank in range(2):
    with ark.Program("sum", rank=rank, world_size=2) as program:
        ark.output("small", ark.all_reduce(ark.input("x", (4, 32))))
        ark.output("large", ark.all_reduce(ark.input("z", (64, 4096))))
    programs.append(program)
world = ark.compile(programs, target=f"hip:{sys.argv[1]}")
Path(sys.argv[2]).write_bytes(world.bundle.sections["kernel"])

# CHECK: .name: ark_kernel
# CHECK: .private_segment_fixed_size: 0
# CHECK-NOT: .name:
# CHECK: amdhsa.target: amdgcn-amd-amdhsa--gfx9

# GFX90A-LABEL: <ark_kernel>:
# GFX90A: buffer_invl2
# GFX90A-NEXT: {{(buffer_wbinvl1_vol|s_waitcnt)}}
# GFX90A: buffer_wbl2
# GFX90A-NEXT: s_waitcnt vmcnt(0)
# GFX90A-NEXT: global_atomic_add_x2

# WAIT-LABEL: <ark_kernel>:
# WAIT: {{(global|flat)}}_load_dwordx2 {{.+}} sc0 sc1
# WAIT-NEXT: s_waitcnt vmcnt(0)
# WAIT-NEXT: buffer_inv sc0 sc1

# SIGNAL-LABEL: <ark_kernel>:
# SIGNAL: buffer_wbl2 sc0 sc1
# SIGNAL-NEXT: s_waitcnt vmcnt(0)
# SIGNAL-NEXT: global_atomic_add_x2 {{.+}} sc1
# SIGNAL: buffer_wbl2 sc1
# SIGNAL-NEXT: s_waitcnt vmcnt(0)
# SIGNAL-NEXT: global_atomic_add_x2 {{.+}}, off{{( //|$)}}

# PACKET-LABEL: <ark_kernel>:
# PACKET-DAG: {{(global|flat)}}_store_dwordx2 {{.+}} sc0 sc1
# PACKET-DAG: {{(global|flat)}}_load_dwordx2 {{.+}} sc0 sc1
