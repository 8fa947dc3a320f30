// Products of i8 add in i32. A load of 16 bytes has 16 elements along K, and a stage of 128 bytes has 128.

// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores=threads=256 \
// RUN:   --canonicalize --cse | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-use-tensor-cores=threads=512 \
// RUN:   --canonicalize --cse | FileCheck %s --check-prefix=NVIDIA

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#none = affine_map<(m, n) -> ()>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @large, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two stages of 128 rows and 128 columns with 64 elements of K. The epilogue reads the sums in registers.
// CHECK-LABEL: func.func private @large(
// CHECK-NOT: memref<128x128xi32>
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<{{8192|16384}}xi32>
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: rocdl.mfma.i32.32x32x16.i8 {{.+}} : (i64, i64, vector<16xi32>, i32, i32, i32) -> vector<16xi32>
// CHECK: %[[SUM:.+]] = vector.extract %{{.+}}[0] : i32 from vector<16xi32>
// CHECK: arith.sitofp %[[SUM]] : i32 to f32
// NVIDIA-LABEL: func.func private @large(
// NVIDIA: nvvm.mma.sync {{.*}}mma_type<s8>
func.func private @large(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<128x256xi8> {llvm.align = 16 : i64, llvm.noalias},
    %w: memref<128x256xi8> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  scf.for %v = %begin to %end step %c1 {
    %t = memref.alloca() {alignment = 64 : i64} : memref<128x128xi32>
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
        ins(%zero : i32) outs(%t : memref<128x128xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xi8>, memref<128x256xi8>) outs(%t : memref<128x128xi32>) {
    ^bb0(%a: i8, %b: i8, %sum: i32):
      %0 = arith.extsi %a : i8 to i32
      %1 = arith.extsi %b : i8 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %sum, %2 : i32
      linalg.yield %3 : i32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xi32>) outs(%y : memref<128x128xf32>) {
    ^bb0(%in: i32, %out: f32):
      %0 = arith.sitofp %in : i32 to f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @few_rows, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The partial sums of split-K parts are integers.
// CHECK-LABEL: func.func private @few_rows(
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<4x16x20xi32>
// CHECK: rocdl.mfma.i32.16x16x32.i8
// CHECK: arith.addi %{{.+}}, %{{.+}} : i32
// NVIDIA-LABEL: func.func private @few_rows(
// NVIDIA: memref.alloca() {alignment = 128 : i64} : memref<16x8x20xi32>
// NVIDIA: nvvm.mma.sync {{.*}}mma_type<s8>
// NVIDIA: arith.addi %{{.+}}, %{{.+}} : i32
func.func private @few_rows(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<8x2048xi8> {llvm.align = 16 : i64, llvm.noalias},
    %w: memref<16x2048xi8> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<8x16xi32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x2048xi8>, memref<16x2048xi8>) outs(%y : memref<8x16xi32>) {
    ^bb0(%a: i8, %b: i8, %sum: i32):
      %0 = arith.extsi %a : i8 to i32
      %1 = arith.extsi %b : i8 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %2, %sum : i32
      linalg.yield %3 : i32
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
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @others, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// These products stay: sums of i8, unsigned operands, rows across K, and a depth without whole loads.
// CHECK-LABEL: func.func private @others(
// CHECK-NOT: rocdl.mfma
// CHECK-COUNT-4: linalg.generic
// NVIDIA-LABEL: func.func private @others(
// NVIDIA-NOT: nvvm.mma.sync
// NVIDIA-COUNT-4: linalg.generic
func.func private @others(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x256xi8> {llvm.align = 16 : i64, llvm.noalias},
    %w: memref<64x256xi8> {llvm.align = 16 : i64, llvm.noalias},
    %v: memref<256x64xi8> {llvm.align = 16 : i64, llvm.noalias},
    %p: memref<64x248xi8> {llvm.align = 8 : i64, llvm.noalias},
    %q: memref<64x248xi8> {llvm.align = 8 : i64, llvm.noalias},
    %y: memref<64x64xi8> {llvm.align = 16 : i64, llvm.noalias},
    %z: memref<64x64xi32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xi8>, memref<64x256xi8>) outs(%y : memref<64x64xi8>) {
    ^bb0(%a: i8, %b: i8, %sum: i8):
      %0 = arith.muli %a, %b : i8
      %1 = arith.addi %sum, %0 : i8
      linalg.yield %1 : i8
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xi8>, memref<64x256xi8>) outs(%z : memref<64x64xi32>) {
    ^bb0(%a: i8, %b: i8, %sum: i32):
      %0 = arith.extui %a : i8 to i32
      %1 = arith.extui %b : i8 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %sum, %2 : i32
      linalg.yield %3 : i32
    }
    linalg.generic {indexing_maps = [#x, #across, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %v : memref<64x256xi8>, memref<256x64xi8>) outs(%z : memref<64x64xi32>) {
    ^bb0(%a: i8, %b: i8, %sum: i32):
      %0 = arith.extsi %a : i8 to i32
      %1 = arith.extsi %b : i8 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %sum, %2 : i32
      linalg.yield %3 : i32
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%p, %q : memref<64x248xi8>, memref<64x248xi8>) outs(%z : memref<64x64xi32>) {
    ^bb0(%a: i8, %b: i8, %sum: i32):
      %0 = arith.extsi %a : i8 to i32
      %1 = arith.extsi %b : i8 to i32
      %2 = arith.muli %0, %1 : i32
      %3 = arith.addi %sum, %2 : i32
      linalg.yield %3 : i32
    }
  }
  return
}
