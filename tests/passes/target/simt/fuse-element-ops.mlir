// RUN: ark-opt %s --ark-fuse-element-ops | FileCheck %s
// RUN: ark-opt %s --ark-fuse-element-ops=threads=4 | FileCheck %s --check-prefix=FEW

// With fewer threads than elements, a thread would recompute values of other threads.
// FEW-LABEL: func.func private @elements(
// FEW-NOT: scf.parallel
// FEW-LABEL: func.func private @scalar(

// The iteration of each element computes everything the element needs. A value that the
// whole chain shares is computed once per element, and temporaries are not written.
// CHECK-LABEL: func.func private @elements(
// CHECK-SAME: %[[M:[^:]+]]: memref<2xf32> {llvm.noalias}, %[[X:[^:]+]]: memref<2x8xf32> {llvm.noalias}, %[[Y:[^:]+]]: memref<8xf32>
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: scf.parallel (%[[I:.+]]) = (%c0{{.*}}) to (%c8{{.*}}) step
// CHECK: %[[M0:.+]] = memref.load %[[M]][%c0
// CHECK: %[[FIRST:.+]] = arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK: %[[LARGEST:.+]] = arith.maximumf %{{.+}}, %[[FIRST]] : f32
// CHECK: %[[W0:.+]] = arith.subf %{{.+}}, %[[LARGEST]]
// CHECK: %[[X0:.+]] = memref.load %[[X]][%c0{{.*}}, %[[I]]]
// CHECK: arith.mulf %[[W0]], %[[X0]]
// CHECK-NOT: arith.maximumf
// CHECK: %[[W1:.+]] = arith.subf %{{.+}}, %[[LARGEST]]
// CHECK: %[[X1:.+]] = memref.load %[[X]][%c1{{.*}}, %[[I]]]
// CHECK: arith.mulf %[[W1]], %[[X1]]
// CHECK: %[[SUM:.+]] = arith.addf
// CHECK: %[[ROOT:.+]] = math.sqrt %[[SUM]]
// CHECK: memref.store %[[ROOT]], %[[Y]][%[[I]]]
// CHECK-NOT: memref.store
#none = affine_map<() -> ()>
#nothing = affine_map<(d0) -> ()>
#only = affine_map<(d0) -> ()>
#all = affine_map<(d0) -> (d0)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
#both = affine_map<(d0, d1) -> (d1, d0)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @elements, operands = 3 : i64}, {function = @scalar, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @elements(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %m: memref<2xf32> {llvm.noalias}, %x: memref<2x8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloca() : memref<f32>
  %w = memref.alloca() : memref<2xf32>
  %sum = memref.alloca() : memref<8xf32>
  %flat = memref.reinterpret_cast %w to offset: [0], sizes: [2], strides: [1] : memref<2xf32> to memref<2xf32, strided<[1]>>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%least : f32) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#all, #only], iterator_types = ["reduction"]} ins(%m : memref<2xf32>) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.maximumf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all, #only, #all], iterator_types = ["parallel"]} ins(%m, %max : memref<2xf32>, memref<f32>) outs(%w : memref<2xf32>) {
    ^bb0(%in: f32, %most: f32, %o: f32):
      %a = arith.subf %in, %most : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#nothing, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#second, #both, #first], iterator_types = ["parallel", "reduction"]} ins(%flat, %x : memref<2xf32, strided<[1]>>, memref<2x8xf32>) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %term: f32, %o: f32):
      %a = arith.mulf %in, %term : f32
      %b = arith.addf %a, %o : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%sum : memref<8xf32>) outs(%y : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = math.sqrt %in : f32
      linalg.yield %a : f32
    }
  }
  return
}

// A scalar is computed in a loop of one iteration, whose index does not index the scalar.
// CHECK-LABEL: func.func private @scalar(
// CHECK-SAME: %[[X:[^:]+]]: memref<3xi32> {llvm.noalias}, %[[Y:[^:]+]]: memref<i32>
// CHECK: scf.parallel (%{{.+}}) = (%c0{{.*}}) to (%c1{{.*}}) step (%c1{{.*}}) {
// CHECK-COUNT-3: memref.load %[[X]][%c{{[012].*}}]
// CHECK: memref.store %{{.+}}, %[[Y]][] : memref<i32>
func.func private @scalar(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<3xi32> {llvm.noalias}, %y: memref<i32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %sum = memref.alloca() : memref<i32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%zero : i32) outs(%sum : memref<i32>) {
    ^bb0(%in: i32, %o: i32):
      linalg.yield %in : i32
    }
    linalg.generic {indexing_maps = [#all, #only], iterator_types = ["reduction"]} ins(%x : memref<3xi32>) outs(%sum : memref<i32>) {
    ^bb0(%in: i32, %o: i32):
      %a = arith.addi %in, %o : i32
      linalg.yield %a : i32
    }
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%sum : memref<i32>) outs(%y : memref<i32>) {
    ^bb0(%in: i32, %o: i32):
      %a = arith.subi %zero, %in : i32
      linalg.yield %a : i32
    }
  }
  return
}
