// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-fuse-row-bodies)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-fuse-row-bodies{threads=64})' | FileCheck %s --check-prefix=FEW

// Sixteen warps compute eight rows. Each of the four sums has one exchange between the two warps of a row.
// CHECK-LABEL: func.func private @body_norm_input_gradient_norm_statistics(
// CHECK-SAME: %[[X:[^:]+]]: memref<1056x768xbf16> {{{[^}]+}}}, %[[G:[^:]+]]: memref<1056x768xbf16> {{{[^}]+}}}, %[[W:[^:]+]]: memref<768xbf16> {{{[^}]+}}}, %[[Y:[^:]+]]: memref<1056x768xbf16> {{{[^}]+}}}, %[[S:[^:]+]]: memref<1056x2xf32>
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK: %[[XS:.+]] = memref.subview %[[X]]
// CHECK: %[[GS:.+]] = memref.subview %[[G]]
// CHECK: %[[YS:.+]] = memref.subview %[[Y]]
// CHECK: %[[SS:.+]] = memref.subview %[[S]]
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %c32
// CHECK: %[[ROW:.+]] = arith.divui %[[WARP]], %c2
// All loads come first, and each address is loaded once.
// CHECK-COUNT-3: vector.load %[[XS]][%[[ROW]], %{{.+}}] {alignment = 8 : i64}
// CHECK-COUNT-3: vector.load %[[GS]][%[[ROW]], %{{.+}}]
// CHECK-COUNT-3: vector.load %[[W]][%{{.+}}]
// CHECK-NOT: vector.load
// CHECK-COUNT-4: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-3: vector.store %{{.+}}, %[[YS]][%[[ROW]], %{{.+}}] {alignment = 8 : i64}
// The first thread of a row stores the mean and the scale.
// CHECK: %[[LEADS:.+]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK: scf.if
// CHECK: memref.store %{{.+}}, %[[SS]][%[[ROW]], %c0
// CHECK: memref.store %{{.+}}, %[[SS]][%[[ROW]], %c1
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK-NOT: linalg.generic
// Two warps do not suffice for eight rows.
// FEW-LABEL: func.func private @body_norm_input_gradient_norm_statistics(
// FEW-NOT: gpu.shuffle
// FEW: linalg.generic
ark.program @gradientAndStatistics(%x: tensor<1056x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1056x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "g"},
    %w: tensor<768xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1056x768xbf16> {ark.name = "y"}, tensor<1056x2xf32> {ark.name = "s"}) {
  %0 = ark.norm_input_gradient %x, %g weight %w eps = 1.0e-5 {centred}
    : (tensor<1056x768xbf16>, tensor<1056x768xbf16>, tensor<768xbf16>) -> tensor<1056x768xbf16>
  %1 = ark.norm_statistics %x eps = 1.0e-5 {centred} : (tensor<1056x768xbf16>) -> tensor<1056x2xf32>
  ark.return %0, %1 : tensor<1056x768xbf16>, tensor<1056x2xf32>
}

// -----

// Another row, such as the gradient of a residual sum, is one more input.
// CHECK-LABEL: func.func private @body_norm_input_gradient_add(
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK: math.rsqrt
// CHECK: vector.store
// CHECK-NOT: linalg.generic
ark.program @residual(%x: tensor<1056x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1056x512xf32> {ark.kind = #ark.kind<input>, ark.name = "g"},
    %r: tensor<1056x512xf32> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<1056x512xf32> {ark.name = "y"}) {
  %0 = ark.norm_input_gradient %x, %g eps = 1.0e-5 : (tensor<1056x512xf32>, tensor<1056x512xf32>) -> tensor<1056x512xf32>
  %1 = ark.add %0, %r : (tensor<1056x512xf32>, tensor<1056x512xf32>) -> tensor<1056x512xf32>
  ark.return %1 : tensor<1056x512xf32>
}

// -----

// The pass serves every body of this form: the exponentials of a softmax stay in registers as well.
// CHECK-LABEL: func.func private @body_softmax(
// CHECK-NOT: linalg.generic
// CHECK: scf.forall
// CHECK: gpu.shuffle
// CHECK: math.exp
// CHECK: vector.store
// CHECK-NOT: linalg.generic
ark.program @softmax(%x: tensor<1056x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<1056x512xbf16> {ark.name = "y"}) {
  %0 = ark.softmax %x axis = 1 : (tensor<1056x512xbf16>) -> tensor<1056x512xbf16>
  ark.return %0 : tensor<1056x512xbf16>
}

// -----

// A row that the body also stores is read from registers.
// CHECK-LABEL: func.func private @body_add_softmax(
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK: %[[XS:.+]] = memref.subview %{{.+}}[%{{.+}}, 0] [8, 512]
// CHECK: %[[RS:.+]] = memref.subview
// CHECK: %[[YS:.+]] = memref.subview
// CHECK: %[[ZS:.+]] = memref.subview
// CHECK: vector.load %[[XS]]
// CHECK: vector.load %[[RS]]
// CHECK-NOT: vector.load
// CHECK: vector.store %{{.+}}, %[[YS]]
// CHECK: vector.store %{{.+}}, %[[ZS]]
ark.program @storedRows(%x: tensor<1056x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %r: tensor<1056x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<1056x512xbf16> {ark.name = "y"}, tensor<1056x512xbf16> {ark.name = "z"}) {
  %0 = ark.add %x, %r : (tensor<1056x512xbf16>, tensor<1056x512xbf16>) -> tensor<1056x512xbf16>
  %1 = ark.softmax %0 axis = 1 : (tensor<1056x512xbf16>) -> tensor<1056x512xbf16>
  ark.return %0, %1 : tensor<1056x512xbf16>, tensor<1056x512xbf16>
}

// -----

// The pass skips rows that no whole number of loads covers, ...
// CHECK-LABEL: func.func private @body_norm_input_gradient(
// CHECK-NOT: gpu.shuffle
// CHECK: linalg.generic {{.*}}"reduction"
ark.program @ragged(%x: tensor<1056x700xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1056x700xbf16> {ark.kind = #ark.kind<input>, ark.name = "g"}) -> (tensor<1056x700xbf16> {ark.name = "y"}) {
  %0 = ark.norm_input_gradient %x, %g eps = 1.0e-5 : (tensor<1056x700xbf16>, tensor<1056x700xbf16>) -> tensor<1056x700xbf16>
  ark.return %0 : tensor<1056x700xbf16>
}

// -----

// ... a last tile with fewer rows than the others, ...
// CHECK-LABEL: func.func private @body_norm_input_gradient(
// CHECK-NOT: gpu.shuffle
// CHECK: linalg.generic {{.*}}"reduction"
ark.program @clipped(%x: tensor<1061x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1061x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "g"}) -> (tensor<1061x768xbf16> {ark.name = "y"}) {
  %0 = ark.norm_input_gradient %x, %g eps = 1.0e-5 : (tensor<1061x768xbf16>, tensor<1061x768xbf16>) -> tensor<1061x768xbf16>
  ark.return %0 : tensor<1061x768xbf16>
}

// -----

// ... and the only sum of an RMS norm, which reads its row twice.
// CHECK-LABEL: func.func private @body_rmsnorm(
// CHECK-NOT: gpu.shuffle
// CHECK: linalg.generic {{.*}}"reduction"
ark.program @oneSum(%x: tensor<1056x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<1056x768xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x eps = 1.0e-5 : (tensor<1056x768xbf16>) -> tensor<1056x768xbf16>
  ark.return %0 : tensor<1056x768xbf16>
}
