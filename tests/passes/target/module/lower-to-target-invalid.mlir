// RUN: ark-opt %s --ark-lower-to-target --verify-diagnostics -o /dev/null

// expected-error @below {{has warps of 32 threads; kernels for hip need 64}}
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx1100", sms = 304, warps = 8,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50,
    gpu = #ark.gpu<warp_size = 32>>} {
}
