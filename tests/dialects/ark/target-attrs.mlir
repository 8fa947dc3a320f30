// RUN: ark-opt %s --split-input-file | ark-opt --split-input-file | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 | FileCheck %s --check-prefix=ASSIGNED

// A known architecture is printed without its facts.
// CHECK: @known attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", {{.*}}overhead = 8>}
// ASSIGNED: @known attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", {{.*}}overhead = 250>}
module @known attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 1, warps = 2,
    shared_memory = 3, bandwidth = 4, flops = 5, handoff = 6, barrier = 7, overhead = 8>} {}

// -----

// An architecture that ark does not know is printed with all facts. A missing fact gets its default.
// CHECK: @unknown attributes {ark.target = #ark.target<backend = cuda, arch = "sm_75"
// CHECK-SAME: gpu = #ark.gpu<warp_size = 32, features = "+ptx75", mma = [<
// CHECK-SAME: kind = mma_sync, m = 16, n = 8, k = 8,
// CHECK-SAME: lhs = <outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>,
// CHECK-SAME: rhs = <outer = [1, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>,
// CHECK-SAME: acc = <outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]>>
module @unknown attributes {ark.target = #ark.target<backend = cuda, arch = "sm_75", sms = 40, warps = 16,
    shared_memory = 65536, bandwidth = 300, flops = 60000, handoff = 700, barrier = 1200, overhead = 250,
    gpu = #ark.gpu<warp_size = 32, features = "+ptx75", mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 8,
      lhs = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>,
      rhs = #ark.fragment<outer = [1, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>,
      acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]>>} {}

// -----

// A known architecture may be given other facts.
// CHECK: @changed attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a"
// CHECK-SAME: gpu = #ark.gpu<warp_size = 32, copies = [cp_async, bulk, load_lds], cluster = 4, packet = 8, l1 = 131072, scopes = <device = "gpu", system = "sys">, fp8 = true,
// CHECK-SAME: matrix_tiles = <shapes = [64, 64], depth = 64, tile = 3000, stage_row = 2300, min_stage = 294, l2 = 1024>>>
module @changed attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200,
    gpu = #ark.gpu<warp_size = 32, copies = [cp_async, bulk, load_lds], cluster = 4, packet = 8, l1 = 131072,
      scopes = #ark.scopes<device = "gpu", system = "sys">, fp8 = true,
      matrix_tiles = #ark.matrix_tiles<shapes = [64, 64], depth = 64, tile = 3000, stage_row = 2300, min_stage = 294, l2 = 1024>>>} {}

// -----

// The default scope of LLVM has no name.
// CHECK: @scopes() attributes {s = #ark.scopes<device = "agent">, t = #ark.scopes<device = "gpu", system = "sys">}
func.func private @scopes() attributes {s = #ark.scopes<device = "agent", system = "">,
    t = #ark.scopes<system = "sys", device = "gpu">}

// -----

// Rates of links are facts of a GPU.
// CHECK: @links attributes {ark.target = #ark.target<{{.*}}gpu = #ark.gpu<warp_size = 32, packet = 8,
// CHECK-SAME: links = <bandwidth = 50, sm_bandwidth = 10, message_bandwidth = 40, packet = 700, message = 6000>>>}
module @links attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200,
    gpu = #ark.gpu<warp_size = 32, packet = 8, links = #ark.links<bandwidth = 50, sm_bandwidth = 10,
      message_bandwidth = 40, packet = 700, message = 6000>>>} {}
