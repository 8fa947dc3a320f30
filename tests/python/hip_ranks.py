# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s gfx90a %t.gfx90a && llvm-readobj --notes %t.gfx90a | FileCheck %s
# RUN: %PYTHON% %s gfx942 %t.gfx942 && llvm-readobj --notes %t.gfx942 | FileCheck %s
# RUN: %PYTHON% %s gfx950 %t.gfx950 && llvm-readobj --notes %t.gfx950 | FileCheck %s
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.gfx942 \
# RUN:   | FileCheck %s --check-prefix=CODE
"""Two ranks that share a GPU are one kernel. Packets of ranks have the scope of the system, and
signals that of the GPU.
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
world = ark.compile(programs, target=f"hip:{sys.argv[1]}", devices=[0])
Path(sys.argv[2]).write_bytes(world.bundle.sections["kernel"])

# CHECK: .name: ark_kernel
# CHECK: .private_segment_fixed_size: 0
# CHECK-NOT: .name:
# CHECK: amdhsa.target: amdgcn-amd-amdhsa--gfx9

# CODE-LABEL: <ark_kernel>:
# CODE-DAG: {{(global|flat)}}_store_dwordx2 {{.+}} sc0 sc1
# CODE-DAG: {{(global|flat)}}_load_dwordx2 {{.+}} sc0 sc1
# CODE-DAG: buffer_wbl2 sc1
# CODE-DAG: buffer_inv sc1
