// RUN: ark-opt %s --ark-lower-to-target --verify-diagnostics -o /dev/null

// expected-error @below {{has the target hip: this version makes code for cpu and cuda}}
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
}
