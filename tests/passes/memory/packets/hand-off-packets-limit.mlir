// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets))' | FileCheck %s

// Task "c" receives the values of packets into temporaries of 128 bytes. Temporaries may take three quarters of the
// shared memory, so that 344 bytes have room for two of them, and 340 bytes for one.

// CHECK-LABEL: ark.program @roomForTwo(
// CHECK: ark.packets : memref<512xi8>
// CHECK: ark.task "c"
// CHECK-COUNT-2: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 344, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @roomForTwo(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %g = memref.alloc() : memref<1x64xbf16>
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%g[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
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
      ins(%g[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>, %h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %c: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    %q = memref.subview %b[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p, %q : memref<1x16xbf16, strided<[64, 1], offset: ?>>, memref<1x16xbf16, strided<[64, 1], offset: ?>>)
        outs(%c : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %other: bf16, %out: f32):
      %s = arith.addf %in, %other : bf16
      %v = arith.extf %s : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// The task waits for the other operand and reads it from the arena.
// CHECK-LABEL: ark.program @roomForOne(
// CHECK: ark.packets : memref<256xi8>
// CHECK: %[[H:.+]] = memref.alloc() : memref<1x64xbf16>
// CHECK: ark.task "b"
// CHECK-SAME: outs(%[[H]][
// CHECK: ark.task "c"
// CHECK-SAME: %[[H]][
// CHECK: ark.receive_packets
// CHECK-NOT: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 340, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @roomForOne(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %g = memref.alloc() : memref<1x64xbf16>
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%g[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
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
      ins(%g[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>, %h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %c: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    %q = memref.subview %b[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p, %q : memref<1x16xbf16, strided<[64, 1], offset: ?>>, memref<1x16xbf16, strided<[64, 1], offset: ?>>)
        outs(%c : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %other: bf16, %out: f32):
      %s = arith.addf %in, %other : bf16
      %v = arith.extf %s : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// An f32 intermediate of 2^18 elements is passed in packets.
// CHECK-LABEL: ark.program @wide(
// CHECK: ark.packets
// CHECK: ark.return
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @wide(
    %x: memref<1024x256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1024x256xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %g = memref.alloc() : memref<1024x256xf32>
  ark.task "a" grid [1024]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1024x256xf32>)
      outs(%g[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1024x256xf32>) {
  ^bb0(%i: index, %a: memref<1x256xf32, strided<[256, 1], offset: ?>>, %b: memref<1x256xf32, strided<[256, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x256xf32, strided<[256, 1], offset: ?>>) outs(%b : memref<1x256xf32, strided<[256, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %in, %in : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.task "b" grid [1024]
      ins(%g[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1024x256xf32>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1024x256xf32>) {
  ^bb0(%i: index, %a: memref<1x256xf32, strided<[256, 1], offset: ?>>, %b: memref<1x256xf32, strided<[256, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x256xf32, strided<[256, 1], offset: ?>>) outs(%b : memref<1x256xf32, strided<[256, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.mulf %in, %in : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A larger f32 intermediate is not.
// CHECK-LABEL: ark.program @tooWide(
// CHECK-NOT: ark.packets
// CHECK: ark.return
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @tooWide(
    %x: memref<1025x256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1025x256xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %g = memref.alloc() : memref<1025x256xf32>
  ark.task "a" grid [1025]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1025x256xf32>)
      outs(%g[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1025x256xf32>) {
  ^bb0(%i: index, %a: memref<1x256xf32, strided<[256, 1], offset: ?>>, %b: memref<1x256xf32, strided<[256, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x256xf32, strided<[256, 1], offset: ?>>) outs(%b : memref<1x256xf32, strided<[256, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %in, %in : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.task "b" grid [1025]
      ins(%g[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1025x256xf32>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 256]>] : memref<1025x256xf32>) {
  ^bb0(%i: index, %a: memref<1x256xf32, strided<[256, 1], offset: ?>>, %b: memref<1x256xf32, strided<[256, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x256xf32, strided<[256, 1], offset: ?>>) outs(%b : memref<1x256xf32, strided<[256, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.mulf %in, %in : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}
