// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-flash-attention-gradients=threads=512 --mlir-print-local-scope | FileCheck %s

// Without a target there is no matrix instruction. MFMA instructions have accumulators in other threads.
// RUN: ark-opt %s --ark-flash-attention-gradients | FileCheck %s --check-prefix=NONE --implicit-check-not=scf.forall
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-flash-attention-gradients | FileCheck %s --check-prefix=NONE --implicit-check-not=scf.forall
// NONE-COUNT-5: ark.blocked_attention_gradient

#left = affine_map<(r, o, d, c, b) -> (r, d)>
#right = affine_map<(r, o, d, c, b) -> (o, d)>
#left_slope = affine_map<(r, o, d, c, b) -> (r, c)>
#right_slope = affine_map<(r, o, d, c, b) -> (o, c)>
#row = affine_map<(r, o, d, c, b) -> (r)>
#pair = affine_map<(r, o, d, c, b) -> (r, o)>
#block = affine_map<(r, o, d, c, b) -> (r, b)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @queries, operands = 0 : i64}, {function = @causal, operands = 0 : i64}, {function = @odd, operands = 0 : i64}, {function = @clipped, operands = 0 : i64}, {function = @keys, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Four warps share a block of 16 queries: each has every fourth step of 16 keys. Registers hold queries and cotangents.
// A step has 8 products for the scores, 8 for the slopes and 8 for the sums. The warps store and add up in turn.
// CHECK-LABEL: func.func private @queries(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<64x64xbf16> {{{[^%]+}}}, %[[K:[a-z0-9]+]]: memref<96x64xbf16> {{{[^%]+}}}, %[[G:[a-z0-9]+]]: memref<64x64xbf16> {{{[^%]+}}}, %[[V:[a-z0-9]+]]: memref<96x64xbf16> {{{[^%]+}}}, %[[S:[a-z0-9]+]]: memref<64xf32>, %[[M:[a-z0-9]+]]: memref<64xf32>
// CHECK-SAME: %[[DQ:[a-z0-9]+]]: memref<64x64xf32>
// CHECK: scf.forall (%{{.+}}) in (512) {
// CHECK-COUNT-2: vector.load %[[Q]]
// CHECK-COUNT-2: vector.load %[[G]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %c96{{.*}} step %c64{{.*}} iter_args
// CHECK-NOT: vector.load %[[Q]]
// CHECK: vector.load %[[K]][%{{.+}}, %{{.+}}] {alignment = 16 : i64}
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: memref.load %[[S]]
// CHECK: arith.subf
// CHECK: ex2.approx
// CHECK: vector.load %[[V]]
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: memref.load %[[M]]
// A hidden pair has no share, even if its slope is NaN.
// CHECK: %[[HIDDEN:.+]] = arith.cmpf oeq, %[[WEIGHT:.+]], %[[ZERO:.+]] : f32
// CHECK: %[[CENTRED:.+]] = arith.subf
// CHECK: %[[SHARE:.+]] = arith.mulf %[[WEIGHT]], %[[CENTRED]]
// CHECK: arith.select %[[HIDDEN]], %[[ZERO]], %[[SHARE]]
// CHECK: arith.truncf %{{.+}} : f32 to bf16
// CHECK-COUNT-4: vector.load %[[K]]
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: scf.if
// CHECK: vector.store %{{.+}}, %[[DQ]]
// CHECK-COUNT-3: gpu.barrier
// CHECK: vector.load %[[DQ]]
// CHECK: arith.addf
// CHECK: vector.store %{{.+}}, %[[DQ]]
// CHECK-NOT: gpu.barrier
// CHECK: mapping = [#gpu.thread<linear_dim_0>]
func.func private @queries(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x64xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16>, memref<96x64xbf16>, memref<64x64xbf16>, memref<96x64xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// All queries see the keys up to the first query. A loop has no mask for steps of these keys, and another loop has the
// rest. The warps take whole steps of both.
// CHECK-LABEL: func.func private @causal(
// CHECK: %[[ONE:.+]] = arith.constant 1 : index
// CHECK: %[[COMMON:.+]] = arith.addi %[[ONE]], %{{.+}}
// CHECK: arith.maxsi
// CHECK: %[[STEPS:.+]] = arith.divui
// CHECK: %[[LIMIT:.+]] = arith.muli %[[STEPS]], %c64
// CHECK: %[[END:.+]] = arith.minsi %[[LIMIT]], %c96
// CHECK: %[[SUMS:.+]]:32 = scf.for %{{.+}} = %{{.+}} to %[[END]] step %c64
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: %[[DIFFERENCE:.+]] = arith.subf %[[DOT:.+]], %{{.+}} : f32
// CHECK: %[[BEGIN:.+]] = arith.addi %[[LIMIT]], %{{.+}} : index
// CHECK: scf.for %{{.+}} = %[[BEGIN]] to %c96{{.*}} step %c64{{.*}} iter_args(%{{[a-z0-9]+}} = %[[SUMS]]#0
// CHECK: %[[SCORE:.+]] = arith.select
// CHECK: arith.subf %[[SCORE]],
func.func private @causal(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>, %first: index,
    %dq: memref<64x64xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  %least = arith.constant 0xFF800000 : f32
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16>, memref<96x64xbf16>, memref<64x64xbf16>, memref<96x64xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    %position = arith.addi %row, %first : index
    %admits = arith.cmpi sle, %key, %position : index
    %score = arith.select %admits, %dot, %least : f32
    ark.yield %score : f32
  }
  return
}

// Indices beyond the last row and the last key are clamped to it. Keys beyond the last one have weight zero, and rows
// beyond the last one are not stored.
// CHECK-LABEL: func.func private @odd(
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x80xbf16>
// CHECK: %[[LENGTH:.+]] = memref.dim %[[K]]
// CHECK: %[[LAST:.+]] = arith.addi %c40{{.*}}, %c-1
// CHECK: arith.minsi %{{.+}}, %[[LAST]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[LENGTH]] step
// CHECK: %[[EXISTS:.+]] = arith.cmpi slt, %{{.+}}, %[[LENGTH]]
// CHECK: arith.minsi
// CHECK: memref.load %{{.+}} : memref<40x?xi1>
// CHECK: %[[MASKED:.+]] = arith.select %{{.+}}, %{{.+}}, %{{.+}} : f32
// CHECK: arith.select %[[EXISTS]], %[[MASKED]], %{{.+}} : f32
// CHECK: arith.cmpi slt, %{{.+}}, %c40
// CHECK: vector.store
func.func private @odd(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<40x80xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<?x80xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<40x80xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<?x80xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<40xf32>, %mean: memref<40xf32>, %m: memref<40x?xi1>, %least: f32,
    %dq: memref<40x80xf32>, %w: memref<40x32xf32>, %t: memref<40x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<40x80xbf16>, memref<?x80xbf16>, memref<40x80xbf16>, memref<?x80xbf16>, memref<40xf32>, memref<40xf32>)
      mask(%m : memref<40x?xi1>)
      outs(%dq : memref<40x80xf32>) memory(%w, %t : memref<40x32xf32>, memref<40x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #pair, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32, %keep: i1):
    %score = arith.select %keep, %dot, %least : f32
    ark.yield %score : f32
  }
  return
}

// The memory for weights bounds the number of rows of a clipped tile: three blocks, with four warps each.
// CHECK-LABEL: func.func private @clipped(
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[ALL:[a-z0-9]+]]: memref<40x64xf32>
// CHECK-NOT: memref.alloca
// CHECK: %[[DQ:.+]] = memref.subview %[[ALL]]
// CHECK: %[[LAST:.+]] = arith.addi %[[N]], %c-1
// CHECK: arith.minsi %{{.+}}, %[[LAST]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %c96{{.*}} step %c64
// CHECK: arith.cmpi slt, %{{.+}}, %[[N]]
// CHECK: vector.store %{{.+}}, %[[DQ]]
func.func private @clipped(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<?x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<?x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<?xf32>, %mean: memref<?xf32>,
    %n: index, %all: memref<40x64xf32>) {
  %memory = memref.alloca() {alignment = 64 : i64} : memref<40x32xf32>
  %dq = memref.subview %all[0, 0] [%n, 64] [1, 1] : memref<40x64xf32> to memref<?x64xf32, strided<[64, 1]>>
  %w = memref.subview %memory[0, 0] [%n, 32] [1, 1] : memref<40x32xf32> to memref<?x32xf32, strided<[32, 1]>>
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<?x64xbf16>, memref<96x64xbf16>, memref<?x64xbf16>, memref<96x64xbf16>, memref<?xf32>, memref<?xf32>)
      outs(%dq : memref<?x64xf32, strided<[64, 1]>>) memory(%w, %w : memref<?x32xf32, strided<[32, 1]>>, memref<?x32xf32, strided<[32, 1]>>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// Gradients of values and of keys have a loop over all heads each. Registers do not hold rows of 128 elements.
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<128x128xf16> {{{[^%]+}}}, %[[Q:[a-z0-9]+]]: memref<3x64x128xf16> {{{[^%]+}}}, %[[V:[a-z0-9]+]]: memref<128x128xf16> {{{[^%]+}}}, %[[G:[a-z0-9]+]]: memref<3x64x128xf16>
// CHECK-SAME: %[[DK:[a-z0-9]+]]: memref<128x128xf32>, %[[DV:[a-z0-9]+]]: memref<128x128xf32>
// The op needs no memory.
// CHECK-NOT: memref.alloca
// CHECK: scf.for %[[HEAD:.+]] = %{{.+}} to %c3{{.*}} step %c1
// CHECK: scf.for %{{.+}} = %{{.+}} to %c64{{.*}} step %c32
// CHECK: vector.load %[[K]]
// CHECK: vector.load %[[Q]][%[[HEAD]],
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK: vector.load %[[G]][%[[HEAD]],
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: vector.store %{{.+}}, %[[DV]]
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-48: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: vector.store %{{.+}}, %[[DK]]
func.func private @keys(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %k: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %q: memref<3x64x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<3x64x128xf16> {llvm.align = 16 : i64, llvm.noalias},
    %lse: memref<3x64xf32>, %mean: memref<3x64xf32>, %dk: memref<128x128xf32>, %dv: memref<128x128xf32>) {
  %w = memref.alloca() {alignment = 64 : i64} : memref<128x64xf32>
  %t = memref.alloca() {alignment = 64 : i64} : memref<128x64xf32>
  ark.blocked_attention_gradient
      ins(%k, %q, %v, %g, %lse, %mean : memref<128x128xf16>, memref<3x64x128xf16>, memref<128x128xf16>, memref<3x64x128xf16>, memref<3x64xf32>, memref<3x64xf32>)
      outs(%dk : memref<128x128xf32>) value_gradient(%dv : memref<128x128xf32>) memory(%w, %t : memref<128x64xf32>, memref<128x64xf32>)
      maps [affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (h, o, d)>,
            affine_map<(r, h, o, d, c, b) -> (r, c)>, affine_map<(r, h, o, d, c, b) -> (h, o, c)>,
            affine_map<(r, h, o, d, c, b) -> (h, o)>, affine_map<(r, h, o, d, c, b) -> (h, o)>,
            affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (r, c)>,
            affine_map<(r, h, o, d, c, b) -> (r, b)>, affine_map<(r, h, o, d, c, b) -> (r, b)>] {
  ^bb0(%key: index, %head: index, %query: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
