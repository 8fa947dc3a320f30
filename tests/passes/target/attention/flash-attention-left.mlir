// RUN: ark-opt %s --split-input-file --ark-flash-attention=threads=512 | FileCheck %s

#scores = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#none = affine_map<(m, n) -> ()>
#all = affine_map<(m) -> ()>
#one = affine_map<(m) -> (m)>
#left = affine_map<(m, n, k) -> (m, k)>
#keys = affine_map<(m, n, k) -> (n, k)>
#values = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Tensor cores would round f32, so the body stays.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK-COUNT-10: linalg.generic
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xf32> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<2xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xf32> to memref<?x64xf32, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xf32> to memref<?x64xf32, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %keys : memref<2x64xf32>, memref<?x64xf32, strided<[64, 1]>>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%q: f32, %c: f32, %o: f32):
      %d = arith.mulf %q, %c fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#scores], iterator_types = ["parallel", "parallel"]} outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%o: f32):
      %key = linalg.index 1 : index
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %o, %least : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%least : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.maximumf %in, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%m : memref<2xf32>) {
    ^bb0(%o: f32):
      %isLeast = arith.cmpf oeq, %o, %least : f32
      %r = arith.select %isLeast, %zero, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m : memref<2xf32>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      %d = arith.subf %o, %in : f32
      %r = math.exp %d : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%zero : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.addf %in, %o fastmath<reassoc,contract> : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%p : memref<2x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #values, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores, %values : memref<2x?xf32, strided<[96, 1]>>, memref<?x64xf32, strided<[64, 1]>>) outs(%p : memref<2x64xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %d = arith.mulf %a, %c fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#row, #scores, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xf32>) {
    ^bb0(%sum: f32, %product: f32, %o: f32):
      %r = arith.divf %product, %sum : f32
      linalg.yield %r : f32
    }
  }
  return
}

// -----

#scores = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#none = affine_map<(m, n) -> ()>
#all = affine_map<(m) -> ()>
#one = affine_map<(m) -> (m)>
#left = affine_map<(m, n, k) -> (m, k)>
#keys = affine_map<(m, n, k) -> (n, k)>
#values = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Another op reads the scores.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK-COUNT-10: linalg.generic
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<2xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %keys : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%q: bf16, %c: bf16, %o: f32):
      %a = arith.extf %q : bf16 to f32
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#scores], iterator_types = ["parallel", "parallel"]} outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%o: f32):
      %key = linalg.index 1 : index
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %o, %least : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%least : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.maximumf %in, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%m : memref<2xf32>) {
    ^bb0(%o: f32):
      %isLeast = arith.cmpf oeq, %o, %least : f32
      %r = arith.select %isLeast, %zero, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m : memref<2xf32>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      %d = arith.subf %o, %in : f32
      %r = math.exp %d : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%zero : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.addf %in, %o fastmath<reassoc,contract> : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%p : memref<2x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #values, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores, %values : memref<2x?xf32, strided<[96, 1]>>, memref<?x64xbf16, strided<[64, 1]>>) outs(%p : memref<2x64xf32>) {
    ^bb0(%a: f32, %c: bf16, %o: f32):
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#row, #scores, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%z : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.addf %in, %o : f32
      linalg.yield %r : f32
    }
  }
  return
}

// -----

#scores = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#none = affine_map<(m, n) -> ()>
#all = affine_map<(m) -> ()>
#one = affine_map<(m) -> (m)>
#left = affine_map<(m, n, k) -> (m, k)>
#keys = affine_map<(m, n, k) -> (n, k)>
#values = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Memory is written between the two products.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK-COUNT-10: linalg.generic
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<2xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %keys : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%q: bf16, %c: bf16, %o: f32):
      %a = arith.extf %q : bf16 to f32
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#scores], iterator_types = ["parallel", "parallel"]} outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%o: f32):
      %key = linalg.index 1 : index
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %o, %least : f32
      linalg.yield %r : f32
    }
    memref.store %zero, %z[%c1] : memref<2xf32>
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%least : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.maximumf %in, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%m : memref<2xf32>) {
    ^bb0(%o: f32):
      %isLeast = arith.cmpf oeq, %o, %least : f32
      %r = arith.select %isLeast, %zero, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m : memref<2xf32>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      %d = arith.subf %o, %in : f32
      %r = math.exp %d : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%zero : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<2x?xf32, strided<[96, 1]>>) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.addf %in, %o fastmath<reassoc,contract> : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%p : memref<2x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #values, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores, %values : memref<2x?xf32, strided<[96, 1]>>, memref<?x64xbf16, strided<[64, 1]>>) outs(%p : memref<2x64xf32>) {
    ^bb0(%a: f32, %c: bf16, %o: f32):
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#row, #scores, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}
