// RUN: ark-opt %s --ark-fuse-element-ops | FileCheck %s

// CHECK-NOT: scf.parallel

#none = affine_map<() -> ()>
#nothing = affine_map<(d0) -> ()>
#only = affine_map<(d0) -> ()>
#all = affine_map<(d0) -> (d0)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
#both = affine_map<(d0, d1) -> (d1, d0)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @long, operands = 3 : i64}, {function = @readByAnotherOp, operands = 3 : i64}, {function = @written, operands = 2 : i64}, {function = @deep, operands = 3 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// The fused chain would take a single thread too long.
// CHECK-LABEL: func.func private @long(
// CHECK-COUNT-6: linalg.generic
func.func private @long(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %m: memref<65xf32> {llvm.noalias}, %x: memref<65x8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloca() : memref<f32>
  %w = memref.alloca() : memref<65xf32>
  %sum = memref.alloca() : memref<8xf32>
  %flat = memref.reinterpret_cast %w to offset: [0], sizes: [65], strides: [1] : memref<65xf32> to memref<65xf32, strided<[1]>>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%least : f32) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#all, #only], iterator_types = ["reduction"]} ins(%m : memref<65xf32>) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.maximumf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all, #only, #all], iterator_types = ["parallel"]} ins(%m, %max : memref<65xf32>, memref<f32>) outs(%w : memref<65xf32>) {
    ^bb0(%in: f32, %most: f32, %o: f32):
      %a = arith.subf %in, %most : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#nothing, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#second, #both, #first], iterator_types = ["parallel", "reduction"]} ins(%flat, %x : memref<65xf32, strided<[1]>>, memref<65x8xf32>) outs(%sum : memref<8xf32>) {
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

// Another op reads an intermediate of the chain.
// CHECK-LABEL: func.func private @readByAnotherOp(
// CHECK-COUNT-6: linalg.generic
func.func private @readByAnotherOp(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %m: memref<2xf32> {llvm.noalias}, %x: memref<2x8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
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
    %seen = memref.load %w[%c0] : memref<2xf32>
    memref.store %seen, %x[%c0, %c0] : memref<2x8xf32>
  }
  return
}

// A thread would read an element that another thread writes.
// CHECK-LABEL: func.func private @written(
// CHECK-COUNT-6: linalg.generic
func.func private @written(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %m: memref<8xf32> {llvm.noalias}, %x: memref<8x8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloca() : memref<f32>
  %w = memref.alloca() : memref<8xf32>
  %sum = memref.alloca() : memref<8xf32>
  %flat = memref.reinterpret_cast %w to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, strided<[1]>>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%least : f32) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#all, #only], iterator_types = ["reduction"]} ins(%m : memref<8xf32>) outs(%max : memref<f32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.maximumf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#all, #only, #all], iterator_types = ["parallel"]} ins(%m, %max : memref<8xf32>, memref<f32>) outs(%w : memref<8xf32>) {
    ^bb0(%in: f32, %most: f32, %o: f32):
      %a = arith.subf %in, %most : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#nothing, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#second, #both, #first], iterator_types = ["parallel", "reduction"]} ins(%flat, %x : memref<8xf32, strided<[1]>>, memref<8x8xf32>) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %term: f32, %o: f32):
      %a = arith.mulf %in, %term : f32
      %b = arith.addf %a, %o : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%sum : memref<8xf32>) outs(%m : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = math.sqrt %in : f32
      linalg.yield %a : f32
    }
  }
  return
}

// A sum of sums would have 33 times 33 terms.
// CHECK-LABEL: func.func private @deep(
// CHECK-COUNT-5: linalg.generic
func.func private @deep(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %a: memref<33x33xf32> {llvm.noalias}, %x: memref<33x8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %inner = memref.alloca() : memref<33xf32>
  %sum = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#nothing, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%inner : memref<33xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, #first], iterator_types = ["parallel", "reduction"]} ins(%a : memref<33x33xf32>) outs(%inner : memref<33xf32>) {
    ^bb0(%in: f32, %o: f32):
      %b = arith.addf %in, %o : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#nothing, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#second, #both, #first], iterator_types = ["parallel", "reduction"]} ins(%inner, %x : memref<33xf32>, memref<33x8xf32>) outs(%sum : memref<8xf32>) {
    ^bb0(%in: f32, %term: f32, %o: f32):
      %m = arith.mulf %in, %term : f32
      %b = arith.addf %m, %o : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%sum : memref<8xf32>) outs(%y : memref<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %b = math.sqrt %in : f32
      linalg.yield %b : f32
    }
  }
  return
}
