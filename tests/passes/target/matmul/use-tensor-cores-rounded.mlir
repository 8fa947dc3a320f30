// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s

// If every reader of a result rounds it first, accumulators are stored in the rounded type.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// One reader stores the rounded elements, the other one uses them in a sum.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[U:[a-z0-9]+]]: memref<128x128xf16> {{{[^}]+}}}, %[[V:[a-z0-9]+]]: memref<128x128xf16> {{{[^}]+}}})
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [128, 128], strides: [136, 1] : memref<65536xf16>
// CHECK: %[[PAIR:.+]] = arith.truncf %{{.+}} : vector<2xf32> to vector<2xf16>
// CHECK: vector.store %[[PAIR]], %[[SUMS]][%{{.+}}, %{{.+}}] {alignment = 4 : i64}
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] : {{.+}}) outs(%[[U]] :
// CHECK-NEXT: ^bb0(%[[A:.+]]: f16,
// CHECK-NEXT: linalg.yield %[[A]] : f16
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] : {{.+}}) outs(%[[V]] :
// CHECK-NEXT: ^bb0(%[[A:.+]]: f16,
// CHECK-NEXT: %[[TWICE:.+]] = arith.addf %[[A]], %[[A]] : f16
// CHECK-NEXT: linalg.yield %[[TWICE]] : f16
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%v : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        %s = arith.addf %r, %r : f16
        linalg.yield %s : f16
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// One of two readers uses elements of f32.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast {{.+}} : memref<32768xf32>
// CHECK: vector.store %{{.+}}, %[[SUMS]][%{{.+}}, %{{.+}}] {alignment = 8 : i64} : memref<128x128xf32, {{.+}}>, vector<2xf32>
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
// CHECK: arith.truncf %{{.+}} : f32 to f16
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%v : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two readers round to different types.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast {{.+}} : memref<32768xf32>
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
// CHECK: arith.truncf %{{.+}} : f32 to f16
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
// CHECK: arith.truncf %{{.+}} : f32 to bf16
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xbf16>, memref<128x256xbf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%v : memref<128x128xbf16>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A rounding to 8 bits does not change the accumulators.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast {{.+}} : memref<32768xf32>
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
// CHECK: arith.truncf %{{.+}} : f32 to f8E4M3FN
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf8E4M3FN> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xbf16>, memref<128x256xbf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xf8E4M3FN>) {
      ^bb0(%a: f32, %b: f8E4M3FN):
        %r = arith.truncf %a : f32 to f8E4M3FN
        linalg.yield %r : f8E4M3FN
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Threads repair sums of split elements in f32.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast {{.+}}xf32> to memref<128x128xf32,
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
// CHECK: arith.truncf %{{.+}} : f32 to bf16
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf32> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xf32>, memref<128x256xf32>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xbf16>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}
