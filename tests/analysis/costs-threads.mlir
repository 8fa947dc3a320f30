// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-test-print-costs))' -o /dev/null | FileCheck %s
// RUN: sed -e 's/backend = cuda, arch = "sm_90a"/backend = cpu, arch = "host"/' -e 's/shared_memory = 232448/shared_memory = 0/' %s \
// RUN:   | ark-opt --pass-pipeline='builtin.module(ark.program(ark-test-print-costs))' -o /dev/null | FileCheck %s --check-prefix=CPU

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448,
    bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// A vCTA reads and writes 16,384 elements of 4 bytes in 3,697 ns. Eight operations for each exponential take 1,092 ns, which
// these copies hide. A pass takes 500 ns.
// CHECK: few: {{.*}} first 4397 ns
// Ten exponentials of each element take 10,923 ns.
// CHECK-NEXT: many: {{.*}} first 11623 ns
// A reduction is a second pass: passes take 1,000 ns, and bytes 1,849 ns.
// CHECK-NEXT: sum: {{.*}} first 3049 ns
// Threads execute each of 1,000 iterations in at least 30 ns. Bytes, overhead and a pass take 813 ns.
// CHECK-NEXT: loop: {{.*}} first 30813 ns
// The weights of a product with one row are streamed, so threads do not wait for them.
// CHECK-NEXT: streamed: {{.*}} first 3897 ns

// Threads of the host have no such times.
// CPU: few: {{.*}} first 3897 ns
// CPU-NEXT: many: {{.*}} first 3897 ns
// CPU-NEXT: sum: {{.*}} first 2049 ns
// CPU-NEXT: loop: {{.*}} first 313 ns
ark.program @threads(
    %x: memref<132x16384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %r: memref<1x16384xf32> {ark.kind = #ark.kind<input>, ark.name = "r"},
    %y: memref<132x16384xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<132x16384xf32> {ark.kind = #ark.kind<output>, ark.name = "z"},
    %s: memref<132xf32> {ark.kind = #ark.kind<output>, ark.name = "s"},
    %t: memref<132xf32> {ark.kind = #ark.kind<output>, ark.name = "t"},
    %u: memref<1x132xf32> {ark.kind = #ark.kind<output>, ark.name = "u"}) {
  ark.task "few" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>)
      outs(%y[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %b: memref<1x16384xf32, strided<[16384, 1], offset: ?>>):
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %e = math.exp %l : f32
      linalg.yield %e : f32
    }
    ark.yield
  }
  ark.task "many" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>)
      outs(%z[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %b: memref<1x16384xf32, strided<[16384, 1], offset: ?>>):
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %e0 = math.exp %l : f32
      %e1 = math.exp %e0 : f32
      %e2 = math.exp %e1 : f32
      %e3 = math.exp %e2 : f32
      %e4 = math.exp %e3 : f32
      %e5 = math.exp %e4 : f32
      %e6 = math.exp %e5 : f32
      %e7 = math.exp %e6 : f32
      %e8 = math.exp %e7 : f32
      %e9 = math.exp %e8 : f32
      linalg.yield %e9 : f32
    }
    ark.yield
  }
  ark.task "sum" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>)
      outs(%s[#ark.region<(d0) -> (d0), [1]>] : memref<132xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<1x16384xf32, strided<[16384, 1], offset: ?>>) outs(%b : memref<1xf32, strided<[1], offset: ?>>) {
    ^bb0(%l: f32, %o: f32):
      %e = arith.addf %l, %o : f32
      linalg.yield %e : f32
    }
    ark.yield
  }
  ark.task "loop" grid [132] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>)
      outs(%t[#ark.region<(d0) -> (d0), [1]>] : memref<132xf32>) {
  ^bb0(%i: index, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1000 = arith.constant 1000 : index
    scf.for %k = %c0 to %c1000 step %c1 {
      %l = memref.load %a[%c0, %k] : memref<1x16384xf32, strided<[16384, 1], offset: ?>>
      memref.store %l, %b[%c0] : memref<1xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.task "streamed" grid [132]
      ins(%r[#ark.region<(d0) -> (0, 0), [1, 16384]>] : memref<1x16384xf32>,
          %x[#ark.region<(d0) -> (d0, 0), [1, 16384]>] : memref<132x16384xf32>)
      outs(%u[#ark.region<(d0) -> (0, d0), [1, 1]>] : memref<1x132xf32>) {
  ^bb0(%i: index, %q: memref<1x16384xf32>, %a: memref<1x16384xf32, strided<[16384, 1], offset: ?>>, %b: memref<1x1xf32, strided<[132, 1], offset: ?>>):
    linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%q, %a : memref<1x16384xf32>, memref<1x16384xf32, strided<[16384, 1], offset: ?>>)
        outs(%b : memref<1x1xf32, strided<[132, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}
