// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets))' | FileCheck %s

// Rows may have any length. Their layout determines the packets per load.
// CHECK-LABEL: ark.program @oddRows(
// CHECK: ark.packets : memref<128xi8>
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<1x5xi32, {{.+}}> to memref<1x5xbf16
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @oddRows(
    %x: memref<4x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x5xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x5xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xbf16>) {
  ^bb0(%i: index, %a: memref<1x5xf32, strided<[5, 1], offset: ?>>, %b: memref<1x5xbf16, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xbf16, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xbf16>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xf32>) {
  ^bb0(%i: index, %a: memref<1x5xbf16, strided<[5, 1], offset: ?>>, %b: memref<1x5xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xbf16, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xf32, strided<[5, 1], offset: ?>>) {
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

// Two rows of six values.
// CHECK-LABEL: ark.program @evenRows(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<2x6xi32, {{.+}}> to memref<2x6xf16
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @evenRows(
    %x: memref<4x6xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x6xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x6xf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 6]>] : memref<4x6xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 6]>] : memref<4x6xf16>) {
  ^bb0(%i: index, %a: memref<1x6xf32, strided<[6, 1], offset: ?>>, %b: memref<1x6xf16, strided<[6, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x6xf32, strided<[6, 1], offset: ?>>) outs(%b : memref<1x6xf16, strided<[6, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f16):
      %v = arith.truncf %in : f32 to f16
      linalg.yield %v : f16
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0 * 2, 0), [2, 6]>] : memref<4x6xf16>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 6]>] : memref<4x6xf32>) {
  ^bb0(%i: index, %a: memref<2x6xf16, strided<[6, 1], offset: ?>>, %b: memref<2x6xf32, strided<[6, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<2x6xf16, strided<[6, 1], offset: ?>>) outs(%b : memref<2x6xf32, strided<[6, 1], offset: ?>>) {
    ^bb0(%in: f16, %out: f32):
      %v = arith.extf %in : f16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Eight values would be two loads, but the second value of four is the first one that a vCTA reads.
// CHECK-LABEL: ark.program @evenBegin(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} {per_load = 2 : i64} : memref<1x8xi32,
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @evenBegin(
    %x: memref<1x18xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x18xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x18xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 18]>] : memref<1x18xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 18]>] : memref<1x18xbf16>) {
  ^bb0(%i: index, %a: memref<1x18xf32, strided<[18, 1], offset: ?>>, %b: memref<1x18xbf16, strided<[18, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x18xf32, strided<[18, 1], offset: ?>>) outs(%b : memref<1x18xbf16, strided<[18, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (0, d0 * 8 + 2), [1, 8]>] : memref<1x18xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 8 + 2), [1, 8]>] : memref<1x18xf32>) {
  ^bb0(%i: index, %a: memref<1x8xbf16, strided<[18, 1], offset: ?>>, %b: memref<1x8xf32, strided<[18, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x8xbf16, strided<[18, 1], offset: ?>>) outs(%b : memref<1x8xf32, strided<[18, 1], offset: ?>>) {
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

// The layout of the rows permits loads of four, but each row begins at an odd value.
// CHECK-LABEL: ark.program @oddBegin(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} {per_load = 1 : i64} : memref<1x8xi32,
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @oddBegin(
    %x: memref<1x17xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x17xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x17xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 17]>] : memref<1x17xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 17]>] : memref<1x17xbf16>) {
  ^bb0(%i: index, %a: memref<1x17xf32, strided<[17, 1], offset: ?>>, %b: memref<1x17xbf16, strided<[17, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x17xf32, strided<[17, 1], offset: ?>>) outs(%b : memref<1x17xbf16, strided<[17, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (0, d0 * 8 + 1), [1, 8]>] : memref<1x17xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 8 + 1), [1, 8]>] : memref<1x17xf32>) {
  ^bb0(%i: index, %a: memref<1x8xbf16, strided<[17, 1], offset: ?>>, %b: memref<1x8xf32, strided<[17, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x8xbf16, strided<[17, 1], offset: ?>>) outs(%b : memref<1x8xf32, strided<[17, 1], offset: ?>>) {
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

// The rows of a column have one value each.
// CHECK-LABEL: ark.program @column(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<4x1xi32, strided<[5, 1], offset: ?>> to memref<4x1xbf16>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @column(
    %x: memref<4x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x5xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x5xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<4x5xbf16>) {
  ^bb0(%i: index, %a: memref<1x5xf32, strided<[5, 1], offset: ?>>, %b: memref<1x5xbf16, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xbf16, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [5]
      ins(%h[#ark.region<(d0) -> (0, d0), [4, 1]>] : memref<4x5xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0), [4, 1]>] : memref<4x5xf32>) {
  ^bb0(%i: index, %a: memref<4x1xbf16, strided<[5, 1], offset: ?>>, %b: memref<4x1xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<4x1xbf16, strided<[5, 1], offset: ?>>) outs(%b : memref<4x1xf32, strided<[5, 1], offset: ?>>) {
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

// Packets of f32 are loaded one by one.
// CHECK-LABEL: ark.program @wideOddRows(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<1x5xi64, {{.+}}> to memref<1x5xf32
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @wideOddRows(
    %x: memref<2x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<2x5xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<2x5xf32>
  ark.task "a" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>) {
  ^bb0(%i: index, %a: memref<1x5xf32, strided<[5, 1], offset: ?>>, %b: memref<1x5xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xf32, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>) {
  ^bb0(%i: index, %a: memref<1x5xf32, strided<[5, 1], offset: ?>>, %b: memref<1x5xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xf32, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A load of two packets would not be aligned.
// CHECK-LABEL: ark.program @wideOddBegin(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} {per_load = 1 : i64} : memref<1x4xi64,
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @wideOddBegin(
    %x: memref<2x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<2x5xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<2x5xf32>
  ark.task "a" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 5]>] : memref<2x5xf32>) {
  ^bb0(%i: index, %a: memref<1x5xf32, strided<[5, 1], offset: ?>>, %b: memref<1x5xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x5xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x5xf32, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0, 1), [1, 4]>] : memref<2x5xf32>)
      outs(%y[#ark.region<(d0) -> (d0, 1), [1, 4]>] : memref<2x5xf32>) {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[5, 1], offset: ?>>, %b: memref<1x4xf32, strided<[5, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x4xf32, strided<[5, 1], offset: ?>>) outs(%b : memref<1x4xf32, strided<[5, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A row of 62 values is 31 loads.
// CHECK-LABEL: ark.program @noMultipleOfFour(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<1x62xi32,
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @noMultipleOfFour(
    %x: memref<1x62xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x62xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x62xbf16>
  ark.task "a" grid [2]
      ins(%x[#ark.region<(d0) -> (0, d0 * 31), [1, 31]>] : memref<1x62xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 31), [1, 31]>] : memref<1x62xbf16>) {
  ^bb0(%i: index, %a: memref<1x31xf32, strided<[62, 1], offset: ?>>, %b: memref<1x31xbf16, strided<[62, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x31xf32, strided<[62, 1], offset: ?>>) outs(%b : memref<1x31xbf16, strided<[62, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 62]>] : memref<1x62xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 31), [1, 31]>] : memref<1x62xf32>) {
  ^bb0(%i: index, %a: memref<1x62xbf16, strided<[62, 1], offset: ?>>, %b: memref<1x31xf32, strided<[62, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 31] [1, 1] : memref<1x62xbf16, strided<[62, 1], offset: ?>> to memref<1x31xbf16, strided<[62, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x31xbf16, strided<[62, 1], offset: ?>>) outs(%b : memref<1x31xf32, strided<[62, 1], offset: ?>>) {
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

// Each vCTA reads six values.
// CHECK-LABEL: ark.program @parts(
// CHECK: ark.task "b"
// CHECK: ark.receive_packets {{%[^ ]+}} to {{%[^ ]+}} : memref<1x6xi32,
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @parts(
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
      ins(%h[#ark.region<(d0) -> (0, d0 * 6), [1, 6]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 6), [1, 6]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x6xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x6xf32, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x6xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x6xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}
