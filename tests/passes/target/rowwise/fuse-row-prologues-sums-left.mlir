// RUN: ark-opt %s --split-input-file --allow-unregistered-dialect --ark-fuse-row-prologues='threads=512 warp-size=32' | FileCheck %s

// Another op reads the sum, so the sum stays in memory. The norm loads it.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUM:.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x4096xf32>
// CHECK-COUNT-2: ark.receive_packets
// CHECK: linalg.generic {{.*}} outs(%[[SUM]] : memref<1x4096xf32>)
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK: vector.load %[[SUM]]
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
  %rows = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
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
      ins(%sum, %scale, %g : memref<1x4096xf32>, memref<1xf32>, memref<4096xbf16>) outs(%rows : memref<1x4096xbf16>) {
  ^bb0(%in: f32, %factor: f32, %weight: bf16, %out: bf16):
    %w = arith.extf %weight : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  }
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %rows[%vcta, %vcta] : memref<1x4096xbf16>
    "test.use"(%element) : (bf16) -> ()
    %other = memref.load %sum[%vcta, %vcta] : memref<1x4096xf32>
    "test.use"(%other) : (f32) -> ()
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

// The registers of a thread do not hold 32 elements of three inputs and a sum, so the sum stays in memory.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUM:.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x16384xf32>
// CHECK-COUNT-2: ark.receive_packets
// CHECK: linalg.generic {{.*}} outs(%[[SUM]] : memref<1x16384xf32>)
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK-COUNT-4: vector.load %[[SUM]]
#row = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>
#scalar = affine_map<(r, c) -> (r)>
#one = affine_map<(r) -> (r)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 4 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 1048576 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p0: memref<1x16384xi32> {ark.packets}, %p1: memref<1x16384xi32> {ark.packets},
    %residual: memref<1x16384xbf16> {llvm.align = 16 : i64}, %g: memref<16384xbf16> {llvm.align = 16 : i64}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %v0 = memref.alloca() {alignment = 64 : i64} : memref<1x16384xbf16>
  %v1 = memref.alloca() {alignment = 64 : i64} : memref<1x16384xbf16>
  %sum = memref.alloca() {alignment = 64 : i64} : memref<1x16384xf32>
  %scale = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
  %rows = memref.alloca() {alignment = 64 : i64} : memref<1x16384xbf16>
  ark.receive_packets %p0 to %v0 : memref<1x16384xi32> to memref<1x16384xbf16>
  ark.receive_packets %p1 to %v1 : memref<1x16384xi32> to memref<1x16384xbf16>
  linalg.generic {indexing_maps = [#row, #row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%v0, %v1, %residual : memref<1x16384xbf16>, memref<1x16384xbf16>, memref<1x16384xbf16>) outs(%sum : memref<1x16384xf32>) {
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
      ins(%sum : memref<1x16384xf32>) outs(%scale : memref<1xf32>) {
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
      ins(%sum, %scale, %g : memref<1x16384xf32>, memref<1xf32>, memref<16384xbf16>) outs(%rows : memref<1x16384xbf16>) {
  ^bb0(%in: f32, %factor: f32, %weight: bf16, %out: bf16):
    %w = arith.extf %weight : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  }
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %rows[%vcta, %vcta] : memref<1x16384xbf16>
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

// The result replaces values that threads receive with loads of two packets, and so through shared memory.
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-2: ark.receive_packets
// CHECK-NOT: scf.forall
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
  ark.receive_packets %p0 to %v0 {per_load = 2 : i64} : memref<1x4096xi32> to memref<1x4096xbf16>
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

// Another op overwrites an input of the sum before the loop begins, so the sum stays in memory.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUM:.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x4096xf32>
// CHECK: linalg.generic {{.*}} outs(%[[SUM]] : memref<1x4096xf32>)
// CHECK: linalg.fill {{.*}} outs(%{{.+}} : memref<1x4096xbf16>)
// CHECK: scf.forall
// CHECK: vector.load %[[SUM]]
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
  %bf_zero = arith.constant 0.0 : bf16
  %c1 = arith.constant 1 : index
  %v0 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %v1 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %sum = memref.alloca() {alignment = 64 : i64} : memref<1x4096xf32>
  %scale = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
  %rows = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
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
      ins(%sum, %scale, %g : memref<1x4096xf32>, memref<1xf32>, memref<4096xbf16>) outs(%rows : memref<1x4096xbf16>) {
  ^bb0(%in: f32, %factor: f32, %weight: bf16, %out: bf16):
    %w = arith.extf %weight : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  }
  linalg.fill ins(%bf_zero : bf16) outs(%v1 : memref<1x4096xbf16>)
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %rows[%vcta, %vcta] : memref<1x4096xbf16>
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

// An op overwrites the input of a norm before the loop begins, so threads must not load the input at the loop.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK: linalg.fill ins(%{{.+}} : bf16)
// CHECK-NOT: scf.forall
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
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<1x4096xbf16> {llvm.align = 16 : i64}, %x1: memref<1x4096xbf16> {llvm.align = 16 : i64},
    %residual: memref<1x4096xbf16> {llvm.align = 16 : i64}, %g: memref<4096xbf16> {llvm.align = 16 : i64}) {
  %zero = arith.constant 0.0 : f32
  %bf_zero = arith.constant 0.0 : bf16
  %c1 = arith.constant 1 : index
  %v0 = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  %scale = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
  %rows = memref.alloca() {alignment = 64 : i64} : memref<1x4096xbf16>
  memref.copy %x, %v0 : memref<1x4096xbf16> to memref<1x4096xbf16>
  linalg.generic {indexing_maps = [affine_map<(r) -> ()>, #one], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%scale : memref<1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar], iterator_types = ["parallel", "reduction"]}
      ins(%v0 : memref<1x4096xbf16>) outs(%scale : memref<1xf32>) {
  ^bb0(%in0: bf16, %out: f32):
    %in = arith.extf %in0 : bf16 to f32
    %square = arith.mulf %in, %in : f32
    %next = arith.addf %square, %out : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [#row, #scalar, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%v0, %scale, %g : memref<1x4096xbf16>, memref<1xf32>, memref<4096xbf16>) outs(%rows : memref<1x4096xbf16>) {
  ^bb0(%in0: bf16, %factor: f32, %weight: bf16, %out: bf16):
    %in = arith.extf %in0 : bf16 to f32
    %scaled = arith.mulf %in, %factor : f32
    %y = arith.truncf %scaled : f32 to bf16
    linalg.yield %y : bf16
  }
  linalg.fill ins(%bf_zero : bf16) outs(%v0 : memref<1x4096xbf16>)
  scf.for %vcta = %begin to %end step %c1 {
    %element = memref.load %rows[%vcta, %vcta] : memref<1x4096xbf16>
    "test.use"(%element) : (bf16) -> ()
  }
  return
}
