// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-flash-attention=threads=512 | FileCheck %s

// Without a target there is no matrix instruction.
// RUN: ark-opt %s --split-input-file --ark-flash-attention | FileCheck %s --check-prefix=NO-TARGET --implicit-check-not=nvvm
// NO-TARGET: ark.online_attention

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
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
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// One thread also stores the sum of the row. Two terms represent a probability in
// f16. Only some threads have the last elements of a row of 80 columns.
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
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x80xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 80] [1, 1] : memref<96x80xf16> to memref<?x80xf16, strided<[80, 1]>>
    %values = memref.subview %v[0, 0] [%n, 80] [1, 1] : memref<96x80xf16> to memref<?x80xf16, strided<[80, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x80xf16>, memref<?x80xf16, strided<[80, 1]>>, memref<?x80xf16, strided<[80, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x80xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x80xf32>) outs(%y : memref<2x80xf16>) {
    ^bb0(%sum: f32, %product: f32, %o: f16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to f16
      linalg.yield %t : f16
    }
    linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%total : memref<2xf32>) outs(%z : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
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
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
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
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
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
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
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
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A reduction also reads the sums of the rows, which the second loop hence stores.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2xf32>
// CHECK-NEXT: %[[TOTAL:.+]] = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
// CHECK: nvvm.mma.sync
// CHECK: scf.forall
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.+}}, %[[TOTAL]][%{{.+}}] : memref<2xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[TOTAL]] : memref<2xf32>)
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<f32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%y : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
    linalg.generic {indexing_maps = [#one, affine_map<(m) -> ()>], iterator_types = ["reduction"]}
        ins(%total : memref<2xf32>) outs(%z : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.maximumf %in, %o : f32
      linalg.yield %r : f32
    }
  }
  return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The op after the attention overwrites the queries, which other warps still read: it stays.
// CHECK-LABEL: func.func private @body(
// CHECK: nvvm.mma.sync
// CHECK: memref.store %{{.+}} : memref<2x64xf32>
// CHECK: linalg.generic
// CHECK: arith.divf
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<2x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<2xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<2x96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<2x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %values = memref.subview %v[0, 0] [%n, 64] [1, 1] : memref<96x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %s[0, 0] [2, %n] [1, 1] : memref<2x96xf32> to memref<2x?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<2x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>, memref<?x64xbf16, strided<[64, 1]>>)
        outs(%p, %m, %total, %scores : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<2xf32>, memref<2x64xf32>) outs(%x : memref<2x64xbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}
