// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cpu:3 | FileCheck %s --check-prefix=CPU
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a | FileCheck %s --check-prefix=CUDA
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 | FileCheck %s --check-prefix=HIP
// RUN: ark-opt %s --split-input-file --ark-assign-target | FileCheck %s --check-prefix=OWN
// RUN: ark-opt %s --split-input-file '--ark-assign-target=target={#ark.target<backend = cpu, arch = "host", sms = 5, warps = 6, shared_memory = 7, bandwidth = 8, flops = 9, handoff = 10, barrier = 11, overhead = 12>}' \
// RUN:   | FileCheck %s --check-prefix=FULL

// The workers of a cpu are SMs; the result for cpu:N does not depend on this machine.
// CPU: module @withoutTarget attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 8, shared_memory = 262144, bandwidth = 30, flops = 240, handoff = 200, barrier = 400, overhead = 50>}
// CUDA: module @withoutTarget attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, {{.+}}>}
// HIP: module @withoutTarget attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, {{.+}}>}
// Without a name, the target is this machine.
// OWN: module @withoutTarget attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = {{[1-9][0-9]*}}, {{.+}}>}
// FULL: module @withoutTarget attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 5, warps = 6, shared_memory = 7, bandwidth = 8, flops = 9, handoff = 10, barrier = 11, overhead = 12>}
module @withoutTarget {}

// -----

// A target on the command line replaces the module's own.
// CPU: module @withTarget attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3,
// CUDA: module @withTarget attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a",
// HIP: module @withTarget attributes {ark.target = #ark.target<backend = hip, arch = "gfx942",
// OWN: module @withTarget attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 1, warps = 2, shared_memory = 3, bandwidth = 4, flops = 5, handoff = 6, barrier = 7, overhead = 8>}
// FULL: module @withTarget attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 5,
module @withTarget attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 1, warps = 2,
    shared_memory = 3, bandwidth = 4, flops = 5, handoff = 6, barrier = 7, overhead = 8>} {}
