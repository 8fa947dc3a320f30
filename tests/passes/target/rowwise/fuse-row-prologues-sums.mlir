// RUN: ark-opt %s --split-input-file --allow-unregistered-dialect --ark-fuse-row-prologues='threads=512 warp-size=32' | FileCheck %s

// A norm of the sum of two ranks' products and the residual, in registers: eight elements for each thread. The threads
// load the residual and the weights, and poll once for the packets of both ranks. The result replaces received values.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[P0:[^:]+]]: memref<1x4096xi32> {ark.packets}, %[[P1:[^:]+]]: memref<1x4096xi32> {ark.packets},
// CHECK-SAME: %[[RESIDUAL:[^:]+]]: memref<1x4096xbf16> {{{[^}]+}}}, %[[G:[^:]+]]: memref<4096xbf16>
// CHECK: %[[ROWS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
// CHECK-NOT: ark.receive_packets
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK: vector.load %[[RESIDUAL]]
// CHECK: vector.load %[[G]]
// CHECK: memref.extract_strided_metadata %[[P0]]
// CHECK: memref.extract_strided_metadata %[[P1]]
// CHECK: scf.while
// CHECK-COUNT-4: func.call @ark_load_packets
// CHECK-NOT: scf.while
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: math.rsqrt
// CHECK: vector.store %{{.+}}, %[[ROWS]]
// CHECK: scf.for %
#row = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#scalar = affine_map<(r, c) -> (r)>
#one = affine_map<(r) -> (r)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 4 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 1048576 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p0: memref<1x4096xi32> {ark.packets}, %p1: memref<1x4096xi32> {ark.packets},
    %residual: memref<1x4096xbf16> {llvm.align = 16 : i64}, %g: memref<4096xbf16> {llvm.align = 16 : i64}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %v0 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v1 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %sum = memref.alloca() {alignment = 64 : i64} : memref<1x4096xf32>
  %scale = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
  ark.receive_packets %p0 to %v0 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p1 to %v1 : memref<1x4096xi32> to memref<1x4096xbf16>
  linalg.generic {indexing_maps = [#row, #row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%v0, %v1, %residual : memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>) outs(%sum : memref<1x4096xf32>) {
  ^bb0(%e0: bf16, %e1: bf16, %e2: bf16, %out: f32):
    %x0 = arith.extf %e0 : bf16 to f32
    %x1 = arith.extf %e1 : bf16 to f32
    %x2 = arith.extf %e2 : bf16 to f32
    %s1 = arith.addf %x0, %x1 : f32
    %s2 = arith.addf %s1, %x2 : f32
    linalg.yield %s2 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r) -> ()>, #one], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%scale : memref<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["parallel", "reduction"]}
      ins(%sum : memref<1x4096xf32>) outs(%scale : memref<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    %next = arith.addf %square, %out : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%scale : memref<1xf32>) {
  ^bb0(%out: f32):
    %r = math.rsqrt %out : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %scale, %g : memref<1x4096xf32>, memref<1xf32>, memref<4096xbf16>) outs(%v0 : memref<1x4096xbf16>) {
  ^bb0(%in: f32, %factor: f32, %weight: bf16, %out: bf16):
    %w = arith.extf %weight : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  }
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %v0[%vcta, %vcta] : memref<1x4096xbf16>
    "test.use"(%element) : (bf16) -> ()
  }
  return
}
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32)
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// Seven ranks: a thread polls for the packets of six ranks, and then for those of the last one.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: ark.receive_packets
// CHECK: scf.while
// CHECK-COUNT-12: func.call @ark_load_packets
// CHECK: scf.while
// CHECK-COUNT-2: func.call @ark_load_packets
// CHECK-NOT: func.call @ark_load_packets
// CHECK: scf.for %
#row = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#scalar = affine_map<(r, c) -> (r)>
#one = affine_map<(r) -> (r)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 9 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 1048576 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p0: memref<1x4096xi32> {ark.packets}, %p1: memref<1x4096xi32> {ark.packets}, %p2: memref<1x4096xi32> {ark.packets}, %p3: memref<1x4096xi32> {ark.packets}, %p4: memref<1x4096xi32> {ark.packets}, %p5: memref<1x4096xi32> {ark.packets}, %p6: memref<1x4096xi32> {ark.packets},
    %residual: memref<1x4096xbf16> {llvm.align = 16 : i64}, %g: memref<4096xbf16> {llvm.align = 16 : i64}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %v0 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v1 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v2 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v3 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v4 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v5 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v6 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %sum = memref.alloca() {alignment = 64 : i64} : memref<1x4096xf32>
  %scale = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
  ark.receive_packets %p0 to %v0 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p1 to %v1 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p2 to %v2 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p3 to %v3 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p4 to %v4 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p5 to %v5 : memref<1x4096xi32> to memref<1x4096xbf16>
  ark.receive_packets %p6 to %v6 : memref<1x4096xi32> to memref<1x4096xbf16>
  linalg.generic {indexing_maps = [#row, #row, #row, #row, #row, #row, #row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%v0, %v1, %v2, %v3, %v4, %v5, %v6, %residual : memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>, memref<1x4096xbf16>) outs(%sum : memref<1x4096xf32>) {
  ^bb0(%e0: bf16, %e1: bf16, %e2: bf16, %e3: bf16, %e4: bf16, %e5: bf16, %e6: bf16, %e7: bf16, %out: f32):
    %x0 = arith.extf %e0 : bf16 to f32
    %x1 = arith.extf %e1 : bf16 to f32
    %x2 = arith.extf %e2 : bf16 to f32
    %x3 = arith.extf %e3 : bf16 to f32
    %x4 = arith.extf %e4 : bf16 to f32
    %x5 = arith.extf %e5 : bf16 to f32
    %x6 = arith.extf %e6 : bf16 to f32
    %x7 = arith.extf %e7 : bf16 to f32
    %s1 = arith.addf %x0, %x1 : f32
    %s2 = arith.addf %s1, %x2 : f32
    %s3 = arith.addf %s2, %x3 : f32
    %s4 = arith.addf %s3, %x4 : f32
    %s5 = arith.addf %s4, %x5 : f32
    %s6 = arith.addf %s5, %x6 : f32
    %s7 = arith.addf %s6, %x7 : f32
    linalg.yield %s7 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r) -> ()>, #one], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%scale : memref<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["parallel", "reduction"]}
      ins(%sum : memref<1x4096xf32>) outs(%scale : memref<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %square = arith.mulf %in, %in : f32
    %next = arith.addf %square, %out : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%scale : memref<1xf32>) {
  ^bb0(%out: f32):
    %r = math.rsqrt %out : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %scale, %g : memref<1x4096xf32>, memref<1xf32>, memref<4096xbf16>) outs(%v0 : memref<1x4096xbf16>) {
  ^bb0(%in: f32, %factor: f32, %weight: bf16, %out: bf16):
    %w = arith.extf %weight : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  }
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %v0[%vcta, %vcta] : memref<1x4096xbf16>
    "test.use"(%element) : (bf16) -> ()
  }
  return
}
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32)
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1
