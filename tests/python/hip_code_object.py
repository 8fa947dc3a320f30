# REQUIRES: bindings_python, amdgpu-registered-target
# RUN: %PYTHON% %s %t.co
# RUN: llvm-readobj --file-header --dyn-syms --notes %t.co | FileCheck %s --check-prefix=OBJECT
# RUN: llvm-objdump --disassemble --no-show-raw-insn --no-leading-addr %t.co \
# RUN:   | FileCheck %s --check-prefix=CODE
# RUN: llvm-objdump --disassemble %t.co | FileCheck %s --check-prefix=SCALARS
"""What could go wrong: atomics whose scope is one CU, a release that does not wait for what it
releases, code that a driver refuses, or more than one kernel."""

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
# One kernel and its descriptor, and nothing that it needs of others.
# OBJECT: DynamicSymbols [
# OBJECT: Name: ark_kernel (
# OBJECT: Name: ark_kernel.kd (
# OBJECT-NOT: Name:
# OBJECT: ]
# OBJECT: NT_AMDGPU_METADATA
# OBJECT: .group_segment_fixed_size: {{[1-9]}}
# OBJECT: .kernarg_segment_size: 8
# OBJECT: .max_flat_workgroup_size: 512
# OBJECT: .name: ark_kernel
# OBJECT: .reqd_workgroup_size:
# OBJECT-NEXT: - 512
# OBJECT: .vgpr_spill_count: 0
# OBJECT: .wavefront_size: 64
# OBJECT-NOT: .name:
# OBJECT: amdhsa.target: amdgcn-amd-amdhsa--gfx942

# The doorbell is the host's: the scope is the system (sc0 sc1).
# CODE-LABEL: <ark_kernel>:
# CODE: global_load_dwordx2 {{.+}} sc0 sc1
# CODE-NEXT: s_waitcnt vmcnt(0)
# CODE-NEXT: buffer_inv sc0 sc1
# A signal, where the scope is all CUs (sc1): each warp's stores are done, all warps meet, and what
# the CU wrote is written back before the counter counts.
# CODE: s_waitcnt vmcnt(0){{.*[[:space:]]+}}s_barrier
# CODE: buffer_wbl2 sc1
# CODE-NEXT: s_waitcnt vmcnt(0)
# CODE-NEXT: global_atomic_add_x2
# A wait: past the caches of the CU, which it then empties.
# CODE: load_dwordx2 {{.+}} sc1{{.*[[:space:]]+}}s_waitcnt vmcnt(0){{.*[[:space:]]+}}buffer_inv sc1
# CODE: s_sleep
# CODE: s_memrealtime

# Only the context's address and, of it, the doorbell and the report's address come by way of the
# cache of scalars, which no wait empties: nothing changes these while the kernel runs.
# SCALARS: s_load_dwordx2 s[{{.+}}], s[0:1], 0x0
# SCALARS: s_load_dwordx2 s[{{.+}}], s[{{.+}}], 0x68
# SCALARS: s_load_dwordx2 s[{{.+}}], s[{{.+}}], 0x30
# SCALARS-NOT: s_load
# SCALARS-NOT: s_buffer_load
