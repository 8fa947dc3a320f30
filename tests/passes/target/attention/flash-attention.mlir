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
// Each warp takes 16 keys, two per quad: four loads of keys for two halves of the depth,
// and four loads of values. Each load of a key feeds two mma instructions; each word of a
// value feeds one for each of the three terms into which a probability is split.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<2x64xbf16> {{{.+}}}, %[[K:[a-z0-9]+]]: memref<96x64xbf16> {{{.+}}}, %[[V:[a-z0-9]+]]: memref<96x64xbf16>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<2x64xbf16> {{{[^%]+}}}, %[[Z:[a-z0-9]+]]: memref<2xf32>
// CHECK-DAG: %[[PRODUCTS:.+]] = memref.alloca() {alignment = 128 : i64} : memref<16x2x64xf32>
// CHECK-DAG: %[[SUMS:.+]] = memref.alloca() {alignment = 128 : i64} : memref<16x2xf32>
// CHECK: scf.for
// CHECK: memref.load
// CHECK: %[[KEYS:.+]] = memref.subview %[[K]]
// CHECK: %[[VALUES:.+]] = memref.subview %[[V]]
// CHECK-NOT: linalg
// CHECK: scf.forall
// CHECK: gpu.shuffle idx
// CHECK-COUNT-2: vector.load %[[X]]
// CHECK: scf.for %[[FIRST:.+]] = %{{.+}} to %[[N:.+]] step %c256 iter_args
// CHECK: vector.load %[[KEYS]][%{{.+}}, %{{.+}}] {alignment = 16 : i64}
// CHECK-COUNT-3: vector.load %[[KEYS]]
// CHECK-COUNT-4: vector.load %[[VALUES]]
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK: %[[SCORE:.+]] = arith.select %{{.+}}, %{{.+}}, %cst{{.*}} : f32
// CHECK: arith.select %{{.+}}, %[[SCORE]], %{{.+}} : f32
// CHECK: arith.maximumf
// CHECK: gpu.shuffle xor
// CHECK-COUNT-5: math.exp
// CHECK-COUNT-12: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: scf.yield
// CHECK-COUNT-4: vector.store %{{.+}}, %[[PRODUCTS]]
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: scf.forall
// CHECK-COUNT-16: memref.load %[[PRODUCTS]]
// CHECK: math.exp
// CHECK: %[[RATIO:.+]] = arith.divf
// CHECK: %[[RESULT:.+]] = arith.truncf %[[RATIO]] : f32 to bf16
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[RESULT]], %[[Y]]
// CHECK-NOT: linalg
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
// One lane also stores the sum of the row. Two terms represent a probability in
// f16. Only some lanes have the last part of a row of 80 columns.
// CHECK-LABEL: func.func private @body(
// CHECK: arith.minsi %{{.+}}, %c72
// CHECK-COUNT-28: nvvm.mma.sync {{.+}} : (vector<2xf16>, vector<2xf16>, f32)
// CHECK-NOT: nvvm.mma.sync
// CHECK: memref.store %{{.+}}, %{{.+}} : memref<2x80xf16>
// CHECK: %[[IS_FIRST:.+]] = arith.cmpi slt, %{{.+}}, %c1
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK-NEXT: memref.store %{{.+}}, %{{.+}} : memref<2xf32>
// CHECK-NOT: linalg
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x80xf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x80xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x80xf16> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x80xf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<2xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x80xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 80] [1, 1] : memref<96x80xf16> to memref<?x80xf16, strided<[80, 1]>>
    %values = memref.subview %v[0, 0] [%n, 80] [1, 1] : memref<96x80xf16> to memref<?x80xf16, strided<[80, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %keys : memref<2x80xf16>, memref<?x80xf16, strided<[80, 1]>>) outs(%scores : memref<2x?xf32, strided<[96, 1]>>) {
    ^bb0(%q: f16, %c: f16, %o: f32):
      %a = arith.extf %q : f16 to f32
      %b = arith.extf %c : f16 to f32
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
        ins(%zero : f32) outs(%p : memref<2x80xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #values, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores, %values : memref<2x?xf32, strided<[96, 1]>>, memref<?x80xf16, strided<[80, 1]>>) outs(%p : memref<2x80xf32>) {
    ^bb0(%a: f32, %c: f16, %o: f32):
      %b = arith.extf %c : f16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#row, #scores, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m, %p : memref<2xf32>, memref<2x80xf32>) outs(%y : memref<2x80xf16>) {
    ^bb0(%sum: f32, %product: f32, %o: f16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to f16
      linalg.yield %t : f16
    }
    linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%m : memref<2xf32>) outs(%z : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
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
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [{}],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// If no lane runs more than one vCTA at once, the body has no loop over vCTAs.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.for %{{.+}} = %{{.+}} to %arg1
// CHECK: nvvm.mma.sync
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
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [{}],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 2]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for %{{.+}} = %arg0 to %arg1
// CHECK: nvvm.mma.sync
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
// Ops before the attention use a temporary that the attention fills again.
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK-COUNT-2: scf.forall
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
    linalg.generic {indexing_maps = [affine_map<(m) -> ()>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]} ins(%unit : f32) outs(%m : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]} ins(%m : memref<2xf32>) outs(%z : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
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
  }
  return
}

