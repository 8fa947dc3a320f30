// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets))' | FileCheck %s --implicit-check-not=ark.packets --implicit-check-not=ark.receive_packets
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets{max-elements=0}))' | FileCheck %s --implicit-check-not=ark.packets

// No tensor in this file becomes packets.

// Packets of f32 have 64 bits, twice the bytes for every vCTA that reads the whole tensor.
// CHECK-LABEL: ark.program @f32(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @f32(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xf32>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xf32, strided<[64, 1], offset: ?>> to memref<1x16xf32, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// The threads would need too many registers for all packets.
// CHECK-LABEL: ark.program @tooLarge(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @tooLarge(
    %x: memref<1x32768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x32768xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x32768xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 8192), [1, 8192]>] : memref<1x32768xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 8192), [1, 8192]>] : memref<1x32768xbf16>) {
  ^bb0(%i: index, %a: memref<1x8192xf32, strided<[32768, 1], offset: ?>>, %b: memref<1x8192xbf16, strided<[32768, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x8192xf32, strided<[32768, 1], offset: ?>>) outs(%b : memref<1x8192xbf16, strided<[32768, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 32768]>] : memref<1x32768xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 8192), [1, 8192]>] : memref<1x32768xf32>) {
  ^bb0(%i: index, %a: memref<1x32768xbf16, strided<[32768, 1], offset: ?>>, %b: memref<1x8192xf32, strided<[32768, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 8192] [1, 1] : memref<1x32768xbf16, strided<[32768, 1], offset: ?>> to memref<1x8192xbf16, strided<[32768, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x8192xbf16, strided<[32768, 1], offset: ?>>) outs(%b : memref<1x8192xf32, strided<[32768, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// The task reads the previous content of the tensor.
// CHECK-LABEL: ark.program @updated(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @updated(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %e = arith.extf %out : bf16 to f32
      %s = arith.addf %e, %in : f32
      %v = arith.truncf %s : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A reader cannot tell the packets of two writers apart.
// CHECK-LABEL: ark.program @twoWriters(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @twoWriters(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "c" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Two ops write the tile, so the task would also send the values of the first op.
// CHECK-LABEL: ark.program @twoOpsWriteTheTile(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @twoOpsWriteTheTile(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    %zero = arith.constant 0.0 : bf16
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    linalg.fill ins(%zero : bf16) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// On a CPU, the caches pass on a counter as fast as a packet.
// CHECK-LABEL: ark.program @cpu(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 4,
    shared_memory = 0, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @cpu(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Receivers poll memory of their own GPU, and these two may be on different GPUs.
// CHECK-LABEL: ark.program @ranks(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @ranks(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) attributes {world_size = 2 : i64} {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.task "c" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%z[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Two ops write one element: a reader could not tell their packets apart.
// CHECK-LABEL: ark.program @partsThatOverlap(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @partsThatOverlap(
    %x: memref<4x10xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x10xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>) {
  ^bb0(%i: index, %a: memref<1x10xf32, strided<[10, 1], offset: ?>>, %b: memref<1x10xf32, strided<[10, 1], offset: ?>>):
    %a0 = memref.subview %a[0, 0] [1, 9] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x9xf32, strided<[10, 1], offset: ?>>
    %b0 = memref.subview %b[0, 0] [1, 9] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x9xf32, strided<[10, 1], offset: ?>>
    linalg.copy ins(%a0 : memref<1x9xf32, strided<[10, 1], offset: ?>>) outs(%b0 : memref<1x9xf32, strided<[10, 1], offset: ?>>)
    %a1 = memref.subview %a[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    %b1 = memref.subview %b[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) outs(%b1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x10xf32>,
          %h[#ark.region<(d0) -> (d0 * 2, 9), [2, 1]>] : memref<4x10xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x8xf32>) {
  ^bb0(%i: index, %a: memref<2x8xf32, strided<[10, 1], offset: ?>>, %c: memref<2x1xf32, strided<[10, 1], offset: ?>>, %b: memref<2x8xf32, strided<[8, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %c : memref<2x8xf32, strided<[10, 1], offset: ?>>, memref<2x1xf32, strided<[10, 1], offset: ?>>) outs(%b : memref<2x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%in: f32, %w: f32, %out: f32):
      %v = arith.mulf %in, %w : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A reader that views the values as another type would have to know which bits are the epoch.
// CHECK-LABEL: ark.program @otherTypes(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @otherTypes(
    %x: memref<4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x16xi32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x16xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xf32>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[16, 1], offset: ?>>, %b: memref<1x16xf32, strided<[16, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[16, 1], offset: ?>>)
    ark.yield
  }
  %bits = ark.buffer_cast %h : memref<4x16xf32> to memref<4x16xi32>
  ark.task "b" grid [2]
      ins(%bits[#ark.region<(d0) -> (d0 * 2, 0), [2, 16]>] : memref<4x16xi32>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 16]>] : memref<4x16xi32>) {
  ^bb0(%i: index, %a: memref<2x16xi32, strided<[16, 1], offset: ?>>, %b: memref<2x16xi32, strided<[16, 1], offset: ?>>):
    linalg.copy ins(%a : memref<2x16xi32, strided<[16, 1], offset: ?>>) outs(%b : memref<2x16xi32, strided<[16, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// An op between the computation of the values and their copy overwrites what they are computed
// from, so the copy stays, and its source stays in memory.
// CHECK-LABEL: ark.program @overwritten(
// CHECK: linalg.copy
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @overwritten(
    %x: memref<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<1x64xbf16> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>,
           %z[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %c: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    %t = memref.alloc() : memref<1x16xf32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%t : memref<1x16xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<1x16xf32>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t : memref<1x16xf32>)
    linalg.copy ins(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%c : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// A store of the target makes two bytes visible at once, and a packet has four.
// CHECK-LABEL: ark.program @wholeRows(
// CHECK-NOT: ark.packets
// CHECK: ark.return
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300,
    gpu = #ark.gpu<warp_size = 32, packet = 2>>} {
ark.program @wholeRows(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// An odd row needs a load per value, and a vCTA has at most 4096 loads.
// CHECK-LABEL: ark.program @manyLoads(
// CHECK: ark.task "b"
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @manyLoads(
    %x: memref<1x4097xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x4097xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x4097xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 4097]>] : memref<1x4097xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 4097]>] : memref<1x4097xbf16>) {
  ^bb0(%i: index, %a: memref<1x4097xf32, strided<[4097, 1], offset: ?>>, %b: memref<1x4097xbf16, strided<[4097, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x4097xf32, strided<[4097, 1], offset: ?>>) outs(%b : memref<1x4097xbf16, strided<[4097, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [1]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 4097]>] : memref<1x4097xbf16>)
      outs(%y[#ark.region<(d0) -> (0, 0), [1, 4097]>] : memref<1x4097xf32>) {
  ^bb0(%i: index, %a: memref<1x4097xbf16, strided<[4097, 1], offset: ?>>, %b: memref<1x4097xf32, strided<[4097, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x4097xbf16, strided<[4097, 1], offset: ?>>) outs(%b : memref<1x4097xf32, strided<[4097, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Two values per load: 4097 loads.
// CHECK-LABEL: ark.program @manyEvenLoads(
// CHECK: ark.task "b"
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @manyEvenLoads(
    %x: memref<1x8194xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x8194xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x8194xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 8194]>] : memref<1x8194xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 8194]>] : memref<1x8194xbf16>) {
  ^bb0(%i: index, %a: memref<1x8194xf32, strided<[8194, 1], offset: ?>>, %b: memref<1x8194xbf16, strided<[8194, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x8194xf32, strided<[8194, 1], offset: ?>>) outs(%b : memref<1x8194xbf16, strided<[8194, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [1]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 8194]>] : memref<1x8194xbf16>)
      outs(%y[#ark.region<(d0) -> (0, 0), [1, 8194]>] : memref<1x8194xf32>) {
  ^bb0(%i: index, %a: memref<1x8194xbf16, strided<[8194, 1], offset: ?>>, %b: memref<1x8194xf32, strided<[8194, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x8194xbf16, strided<[8194, 1], offset: ?>>) outs(%b : memref<1x8194xf32, strided<[8194, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}
