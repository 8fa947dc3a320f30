// RUN: ark-opt %s --ark-lower-to-target --verify-diagnostics -o /dev/null

// Its warps may have 32 threads.
// expected-error @below {{has the architecture 'gfx1100'; kernels for hip are made for gfx9}}
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx1100", sms = 304, warps = 8,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
}
