// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-test-print-costs))' -o /dev/null | FileCheck %s

// Threads divide the elements of a structured op, and execute a loop inside of it for each of their elements. A loop of
// unknown length counts once, or as often as its attribute states: 16,384 elements with 32 operations for each iteration.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448,
    bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// CHECK: once: {{.*}} 69206016 flops;
// CHECK-NEXT: quarter: {{.*}} 17301504 flops;
// CHECK-NEXT: thrice: {{.*}} 207618048 flops;
ark.program @trips(
    %x: memref<132x16384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %n: memref<1xi32> {ark.kind = #ark.kind<input>, ark.name = "n"},
    %y: memref<132x16384xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<132x16384xf32> {ark.kind = #ark.kind<output>, ark.name = "z"},
    %u: memref<132x16384xf32> {ark.kind = #ark.kind<output>, ark.name = "u"}) {
  ark.task "once" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>, %n[#ark.region<(d0) -> (0), [1]>] : memref<1xi32>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %c: memref<1xi32, strided<[1]>>, %b: memref<1x16384xf32, strided<[16384, 1], offset: ?>>):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %0 = memref.load %c[%zero] : memref<1xi32, strided<[1]>>
      %end = arith.index_cast %0 : i32 to index
      %e = scf.for %j = %zero to %end step %one iter_args(%s = %l) -> (f32) {
        %e0 = math.exp %s : f32
        %e1 = math.exp %e0 : f32
        %e2 = math.exp %e1 : f32
        %e3 = math.exp %e2 : f32
        scf.yield %e3 : f32
      }
      linalg.yield %e : f32
    }
    ark.yield
  }
  ark.task "quarter" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>, %n[#ark.region<(d0) -> (0), [1]>] : memref<1xi32>)
      outs(%z[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %c: memref<1xi32, strided<[1]>>, %b: memref<1x16384xf32, strided<[16384, 1], offset: ?>>):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %0 = memref.load %c[%zero] : memref<1xi32, strided<[1]>>
      %end = arith.index_cast %0 : i32 to index
      %e = scf.for %j = %zero to %end step %one iter_args(%s = %l) -> (f32) {
        %e0 = math.exp %s : f32
        %e1 = math.exp %e0 : f32
        %e2 = math.exp %e1 : f32
        %e3 = math.exp %e2 : f32
        scf.yield %e3 : f32
      } {ark.mean_trips = 0.25 : f64}
      linalg.yield %e : f32
    }
    ark.yield
  }
  ark.task "thrice" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>, %n[#ark.region<(d0) -> (0), [1]>] : memref<1xi32>)
      outs(%u[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %c: memref<1xi32, strided<[1]>>, %b: memref<1x16384xf32, strided<[16384, 1], offset: ?>>):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %0 = memref.load %c[%zero] : memref<1xi32, strided<[1]>>
      %end = arith.index_cast %0 : i32 to index
      %e = scf.for %j = %zero to %end step %one iter_args(%s = %l) -> (f32) {
        %e0 = math.exp %s : f32
        %e1 = math.exp %e0 : f32
        %e2 = math.exp %e1 : f32
        %e3 = math.exp %e2 : f32
        scf.yield %e3 : f32
      } {ark.mean_trips = 3.0 : f64}
      linalg.yield %e : f32
    }
    ark.yield
  }
  ark.return
}
}
