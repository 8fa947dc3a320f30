# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s %t.co
# RUN: llvm-readobj --file-header --dyn-syms --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co \
# RUN:   | FileCheck %s --check-prefix=CODE
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=SCALARS
"""The code object has one kernel and a format that the driver loads. Atomics have the scope of the
device or system, and a release waits for the stores that it releases.
"""

import sys
from pathlib import Path

import ark_mlir as ark

with ark.Program("norms") as program:
    x = ark.input("x", (64, 64), ark.fp32)
    w = ark.parameter("w", (64, 64), ark.bf16)
    ark.output("y", ark.softmax(ark.matmul(ark.cast(ark.softmax(x), ark.bf16), w), axis=0))
executable = ark.compile(program, target="hip:gfx942")
Path(sys.argv[1]).write_bytes(executable.bundle.sections["kernel"])

# OBJECT: OS/ABI: AMDGPU_HSA
# OBJECT-NEXT: ABIVersion: 3
# OBJECT: Type: SharedObject
# OBJECT: Machine: EM_AMDGPU
# OBJECT: EF_AMDGPU_MACH_AMDGCN_GFX942
# The code object defines one kernel and its descriptor, and has no undefined symbols.
# OBJECT: DynamicSymbols [
# OBJECT: Name: ark_kernel (
# OBJECT: Name: ark_kernel.kd (
# OBJECT-NOT: Name:
# OBJECT: ]
# OBJECT: NT_AMDGPU_METADATA
# OBJECT: .group_segment_fixed_size: {{[1-9]}}
# OBJECT: .kernarg_segment_size: 8
# OBJECT: .max_flat_workgroup_size: 256
# OBJECT: .name: ark_kernel
# No register is spilled to memory. Some are kept in accumulation registers.
# OBJECT: .private_segment_fixed_size: 0
# OBJECT: .reqd_workgroup_size:
# OBJECT-NEXT: - 256
# OBJECT: .wavefront_size: 64
# OBJECT-NOT: .name:
# OBJECT: amdhsa.target: amdgcn-amd-amdhsa--gfx942

# The doorbell is in memory of the host, so the scope is the system (sc0 sc1).
# CODE-LABEL: <ark_kernel>:
# CODE: global_load_dwordx2 {{.+}} sc0 sc1
# CODE-NEXT: s_waitcnt vmcnt(0)
# CODE-NEXT: buffer_inv sc0 sc1
# A signal has the scope of all CUs (sc1): the stores of each warp complete, all warps meet, and the
# CU writes back its stores before it adds to the counter.
# CODE: s_waitcnt vmcnt(0){{.*[[:space:]]+}}s_barrier
# CODE: buffer_wbl2 sc1
# CODE-NEXT: s_waitcnt vmcnt(0)
# CODE-NEXT: global_atomic_add_x2
# A wait loads past the caches of the CU, and then invalidates them.
# CODE: load_dwordx2 {{.+}} sc1{{.*[[:space:]]+}}s_waitcnt vmcnt(0){{.*[[:space:]]+}}buffer_inv sc1
# CODE: s_sleep
# CODE: s_memrealtime

# Scalar loads go through a cache that no wait invalidates. The kernel reads only constant words in
# this way: the address of the context, and in the context the addresses of doorbell and report.
# SCALARS: s_load_dwordx2 s[{{.+}}], s[0:1], 0x0
# SCALARS: s_load_dwordx2 s[{{.+}}], s[{{.+}}], 0x68
# SCALARS: s_load_dwordx2 s[{{.+}}], s[{{.+}}], 0x30
# SCALARS-NOT: s_load
# SCALARS-NOT: s_buffer_load
