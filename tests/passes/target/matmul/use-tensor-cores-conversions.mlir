// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s

// Accumulators of two products exist at the same time, so that the op that reads both rounds the first product itself.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[V:[a-z0-9]+]]: memref<128x128xf16> {{{[^}]+}}})
// CHECK-NOT: memref<128x128xf16>
// CHECK: %[[FIRST:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0]
// CHECK: %[[SECOND:.+]] = memref.reinterpret_cast %{{.+}} to offset: [17408]
// CHECK: linalg.generic {{.+}} ins(%[[SECOND]], %[[FIRST]] : memref<128x128xf32, {{.+}}>, memref<128x128xf32, {{.+}}>) outs(%[[V]] :
// CHECK-NEXT: ^bb0(%[[B:.+]]: f32, %[[A:.+]]: f32, %{{.+}}: f16):
// CHECK-NEXT: %[[ROUNDED:.+]] = arith.truncf %[[A]] : f32 to f16
// CHECK-NEXT: %[[UP:.+]] = arith.extf %[[ROUNDED]] : f16 to f32
// CHECK-NEXT: %[[PRODUCT:.+]] = arith.mulf %[[B]], %[[UP]] : f32
// CHECK-NEXT: %[[RESULT:.+]] = arith.truncf %[[PRODUCT]] : f32 to f16
// CHECK-NEXT: linalg.yield %[[RESULT]]
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rounded = memref.alloca() : memref<128x128xf16>
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
        ins(%t : memref<128x128xf32>) outs(%rounded : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %z : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t, %rounded : memref<128x128xf32>, memref<128x128xf16>) outs(%v : memref<128x128xf16>) {
      ^bb0(%a: f32, %c: f16, %b: f16):
        %h = arith.extf %c : f16 to f32
        %g = arith.mulf %a, %h : f32
        %r = arith.truncf %g : f32 to f16
        linalg.yield %r : f16
      }
  }
  return
}

// -----

// The temporary remains if its reader permutes the elements.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ROUNDED:.+]] = memref.alloca() : memref<128x128xf16>
// CHECK: linalg.generic {{.+}} outs(%[[ROUNDED]] :
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[ROUNDED]] :
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rounded = memref.alloca() : memref<128x128xf16>
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
        ins(%t : memref<128x128xf32>) outs(%rounded : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %z : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, affine_map<(m, n) -> (n, m)>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t, %rounded : memref<128x128xf32>, memref<128x128xf16>) outs(%v : memref<128x128xf16>) {
      ^bb0(%a: f32, %c: f16, %b: f16):
        %g = arith.truncf %a : f32 to f16
        %r = arith.mulf %g, %c : f16
        linalg.yield %r : f16
      }
  }
  return
}

// -----

// The temporary remains if two ops read it.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ROUNDED:.+]] = memref.alloca() : memref<128x128xf16>
// CHECK: linalg.generic {{.+}} outs(%[[ROUNDED]] :
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[ROUNDED]] :
// CHECK: memref.copy %[[ROUNDED]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rounded = memref.alloca() : memref<128x128xf16>
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
        ins(%t : memref<128x128xf32>) outs(%rounded : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %z : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t, %rounded : memref<128x128xf32>, memref<128x128xf16>) outs(%v : memref<128x128xf16>) {
      ^bb0(%a: f32, %c: f16, %b: f16):
        %g = arith.truncf %a : f32 to f16
        %r = arith.mulf %g, %c : f16
        linalg.yield %r : f16
      }
    memref.copy %rounded, %u : memref<128x128xf16> to memref<128x128xf16>
  }
  return
}
