// The warp size is that of the target. A module without a GPU as its target needs the option.
// RUN: ark-opt %s --split-input-file --ark-merge-vctas --verify-diagnostics -o /dev/null
// RUN: ark-opt %s --split-input-file --ark-split-reductions --verify-diagnostics -o /dev/null
// RUN: ark-opt %s --split-input-file --ark-map-to-threads --verify-diagnostics -o /dev/null

// expected-error @below {{has no GPU as its target: set the attribute 'ark.target', or the option 'warp-size'}}
module {
}

// -----

// expected-error @below {{has no GPU as its target}}
module attributes {ark.target = #ark.target<backend = cpu, arch = "", sms = 2, warps = 1, shared_memory = 65536,
    bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
}
