// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 \
// RUN:   --ark-use-tensor-cores | FileCheck %s --check-prefix=OLD

// Warpgroups multiply operands of f32 as three bf16 terms. Warps do not.
// OLD-NOT: nvvm.mma.sync
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two stages, each with three parts of 256 rows of 128 bytes.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<128x192xf32> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<192x128xf32> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<128x128xf32>
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<{{49152|49168|49176}}xf32>
// CHECK: scf.forall (%{{.+}}) in (512) {
// Each thread loads eight elements of four rows, in two vectors each.
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// The upper bits are the first part. The rest is rounded to the second part, and what is left is the third part.
// CHECK: %[[HIGH:.+]] = arith.andi %{{.+}}, %{{.+}} : i32
// CHECK: %[[HIGH_FLOAT:.+]] = arith.bitcast %[[HIGH]] : i32 to f32
// CHECK: %[[REST:.+]] = arith.subf %{{.+}}, %[[HIGH_FLOAT]]
// CHECK: %[[REST_BITS:.+]] = arith.bitcast %[[REST]] : f32 to i32
// CHECK: %[[ROUNDED:.+]] = arith.addi %[[REST_BITS]], %{{.+}} : i32
// CHECK: %[[MIDDLE:.+]] = arith.andi %[[ROUNDED]], %{{.+}} : i32
// CHECK: %[[MIDDLE_FLOAT:.+]] = arith.bitcast %[[MIDDLE]] : i32 to f32
// CHECK: arith.subf %[[REST]], %[[MIDDLE_FLOAT]]
// Three parts of each of four rows.
// CHECK-COUNT-12: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: gpu.barrier
// CHECK: scf.for %[[K:.+]] = %c0{{.*}} to %c192{{.*}} step %c64
// CHECK: nvvm.wgmma.fence.aligned
// Six products of parts, with four instructions each.
// CHECK-COUNT-24: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <row>]
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// The other stage is filled meanwhile.
// CHECK: scf.if
// CHECK-COUNT-8: llvm.load
// CHECK-COUNT-12: llvm.store
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: nvvm.fence.proxy
// CHECK: gpu.barrier
// CHECK: scf.yield
// A thread with an accumulator that is not finite computes its accumulators again.
// CHECK: vector.store
// CHECK: %[[ODD:.+]] = arith.cmpf uno
// CHECK: scf.if %[[ODD]] {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[A:.+]] = memref.load %[[X]][%{{.+}}, %[[DEPTH:.+]]] : memref<128x192xf32>
// CHECK: %[[B:.+]] = memref.load %[[W]][%[[DEPTH]], %{{.+}}] : memref<192x128xf32>
// CHECK: arith.mulf %[[A]], %[[B]]
// CHECK: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<192x128xf32> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x192xf32>, memref<192x128xf32>) outs(%y : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}
