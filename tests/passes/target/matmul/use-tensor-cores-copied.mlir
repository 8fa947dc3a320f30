// On a GPU with loads to LDS, warps copy stages without registers if the rows of both operands lie along K.

// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx950 --ark-use-tensor-cores=threads=256 \
// RUN:   --canonicalize --cse | FileCheck %s
// The loads of gfx942 take 4 bytes per thread.
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores=threads=256 \
// RUN:   --canonicalize --cse | FileCheck %s --check-prefix=STORED
// STORED-NOT: rocdl.global.load.lds
// STORED: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// STORED-NOT: rocdl.global.load.lds

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#across = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Eight stages of 64 elements of K, three of which lie in shared memory. A warp has four copies of each operand: they
// share an address of shared memory, and their distance is part of the instruction.
// CHECK: #[[$DOMAIN:.+]] = #llvm.alias_scope_domain<id = "ark.shared_memory">
// CHECK: #[[$COPIES:.+]] = #llvm.alias_scope<id = "ark.copies", domain = #[[$DOMAIN]]>
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<24576xi32>
// CHECK: scf.forall (%[[THREAD:.+]]) in (256) {
// CHECK: %[[IN_WARP:.+]] = arith.remui %[[THREAD]], %c64
// CHECK: %[[ROW:.+]] = arith.divui %[[IN_WARP]], %c8
// CHECK: %[[PLACE:.+]] = arith.remui %[[IN_WARP]], %c8
// Two rows fill all 64 banks. A thread copies the chunk whose place is its own.
// CHECK: %[[PAIR:.+]] = arith.divui %{{.+}}, %c2
// CHECK: %[[KEY:.+]] = arith.remui %[[PAIR]], %c8
// CHECK: arith.xori %[[PLACE]], %[[KEY]]
// The first two stages.
// CHECK-COUNT-4: rocdl.global.load.lds %{{.+}}, %{{.+}}, 16, 0, 0 {alias_scopes = [#[[$COPIES]]]}
// CHECK: rocdl.global.load.lds %{{.+}}, %{{.+}}, 16, 3072, 0 {alias_scopes = [#[[$COPIES]]]}
// CHECK-NOT: rocdl.global.load.lds
// Two rounds of three stages: a wait for the eight copies of the stage, while those of the next one are in flight, and
// for reads of the stage before. Fences bind the compiler, since a fence of the CTA would wait for all copies.
// CHECK: scf.for %{{.+}} = %c0_i32 to %c384_i32 step %c192_i32 iter_args(
// CHECK-COUNT-8: llvm.inline_asm has_side_effects "", "=v,0" %{{.+}} : (i32) -> i32
// CHECK: rocdl.s.waitcnt 120
// CHECK-NEXT: llvm.fence syncscope("wavefront") release
// CHECK-NEXT: rocdl.s.barrier
// CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64, noalias_scopes = [#[[$COPIES]]]} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-8: rocdl.global.load.lds
// CHECK-NOT: rocdl.global.load.lds
// CHECK: rocdl.sched.barrier 0
// Reads are one slice ahead of the instructions.
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64, noalias_scopes = [#[[$COPIES]]]} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: rocdl.sched.barrier 0
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
// CHECK: rocdl.s.waitcnt 120
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
// CHECK: rocdl.s.waitcnt 120
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
// CHECK: scf.yield
// Two stages are left, whose copies are in flight.
// CHECK-NOT: rocdl.global.load.lds
// CHECK: rocdl.s.waitcnt 120
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
// CHECK: rocdl.s.waitcnt 112
// CHECK-COUNT-16: rocdl.mfma.f32.32x32x16.bf16
// CHECK-NOT: rocdl.mfma
// The next tile overwrites the stages.
// CHECK: gpu.barrier
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x512xbf16>, memref<128x512xbf16>) outs(%y : memref<128x128xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#across = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @ragged, operands = 0 : i64}, {function = @across, operands = 0 : i64}, {function = @few_rows, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Elements beyond the end of K have to be zero, so that threads store them.
// CHECK-LABEL: func.func private @ragged(
// CHECK-NOT: rocdl.global.load.lds
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
func.func private @ragged(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<128x200xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x200xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x200xbf16>, memref<128x200xbf16>) outs(%y : memref<128x128xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}

// Threads transpose rows across K.
// CHECK-LABEL: func.func private @across(
// CHECK-NOT: rocdl.global.load.lds
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
func.func private @across(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<512x128xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #across, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x512xbf16>, memref<512x128xbf16>) outs(%y : memref<128x128xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}

// Six copies of the rows could not be divided among four warps.
// CHECK-LABEL: func.func private @few_rows(
// CHECK-NOT: rocdl.global.load.lds
// CHECK: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: rocdl.global.load.lds
func.func private @few_rows(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<48x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<48x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<48x512xbf16>, memref<128x512xbf16>) outs(%y : memref<48x128xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}
