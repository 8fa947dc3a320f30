// RUN: ark-opt %s --split-input-file --ark-lower-to-target --verify-diagnostics -o /dev/null

// expected-error @below {{has warps of 32 threads; kernels for hip need 64}}
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx1100", sms = 304, warps = 8,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50,
    gpu = #ark.gpu<warp_size = 32>>} {
}

// -----

// expected-error @below {{has warps of 64 threads; kernels for cuda need 32}}
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 108, warps = 8,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50,
    gpu = #ark.gpu<warp_size = 64>>} {
}
