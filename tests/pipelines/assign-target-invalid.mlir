// RUN: not ark-opt %s --ark-assign-target=target=tpu 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not ark-opt %s --ark-assign-target=target=cuda 2>&1 | FileCheck %s --check-prefix=NO-ARCH
// RUN: not ark-opt %s --ark-assign-target=target=cuda:sm_1 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not ark-opt %s --ark-assign-target=target=hip:sm_90a 2>&1 | FileCheck %s --check-prefix=HIP
// RUN: not ark-opt %s --ark-assign-target=target=cpu: 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not ark-opt %s --ark-assign-target=target=cpu:0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ark-opt %s --ark-assign-target=target=cpu:-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ark-opt %s --ark-assign-target=target=cpu:4097 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not ark-opt %s --ark-assign-target=target=cpu:2x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not ark-opt %s '--ark-assign-target=target=#ark.kind<input>' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ark-opt %s '--ark-assign-target=target=#ark.target<>' 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not ark-opt %s '--ark-assign-target=target={#dlti.dl_spec<array<index: 0> = 1>}' 2>&1 | FileCheck %s --check-prefix=CRASH
// RUN: not ark-opt %s --ark-compile-to=graph '--ark-target=#ark.target<backend = tpu, arch = "v5", sms = 1, warps = 1, shared_memory = 0, bandwidth = 1, flops = 1, handoff = 1, barrier = 1, overhead = 1, gpu = #ark.gpu<warp_size = 1>>' 2>&1 | FileCheck %s --check-prefix=LACKS
// RUN: not ark-opt %s --ark-compile-to=graph --ark-target=tpu 2>&1 | FileCheck %s --check-prefix=BACKEND

// BACKEND: error: target 'tpu' is not known: expected one of cpu, cpu:<workers>, cuda:<arch>, hip:<arch>
// NO-ARCH: error: target 'cuda:' is not known: expected one of sm_80, sm_86, sm_89, sm_90a, sm_100a
// CUDA: error: target 'cuda:sm_1' is not known: expected one of sm_80, sm_86, sm_89, sm_90a, sm_100a
// HIP: error: target 'hip:sm_90a' is not known: expected one of gfx90a, gfx942, gfx950
// EMPTY: error: target 'cpu:': the number of workers is not in 1..4096
// NONE: error: target 'cpu:0': the number of workers is not in 1..4096
// NEGATIVE: error: target 'cpu:-1': the number of workers is not in 1..4096
// MANY: error: target 'cpu:4097': the number of workers is not in 1..4096
// NUMBER: error: target 'cpu:2x': the number of workers is not in 1..4096
// OTHER: error: '#ark.kind<input>' is not an #ark.target
// TEXT: error: '#ark.target<>' is not an #ark.target
// CRASH: error: '#dlti.dl_spec<array<index: 0> = 1>' is not an #ark.target
// LACKS: error: the target is for the backend 'tpu', which this compiler lacks: it has cpu, cuda, hip
module {}
