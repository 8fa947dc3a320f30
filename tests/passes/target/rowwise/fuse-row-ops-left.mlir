// RUN: ark-opt %s --split-input-file --ark-fuse-row-ops=warp-size=32 | FileCheck %s

// CHECK-NOT: scf.forall

#rows = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#all = affine_map<(m) -> (m)>
#none = affine_map<(m) -> ()>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @long, operands = 0 : i64}, {function = @moreRowsThanWarps, operands = 0 : i64},
      {function = @alone, operands = 0 : i64}, {function = @written, operands = 0 : i64}, {function = @others, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// A row of this length exceeds the registers of a warp.
// CHECK-LABEL: func.func private @long(
// CHECK-COUNT-4: linalg.generic
func.func private @long(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x512xf32> {llvm.noalias}, %y: memref<2x512xf32> {llvm.noalias}, %z: memref<2x512xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<2xf32>
  %norm = memref.alloca() : memref<2x512xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x512xf32>) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.addf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<2x512xf32>, memref<2xf32>) outs(%norm : memref<2x512xf32>) {
    ^bb0(%in: f32, %s: f32, %o: f32):
      %a = arith.divf %in, %s : f32
      linalg.yield %a : f32
    }
    %one = memref.load %norm[%c0, %c0] : memref<2x512xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%one : f32) outs(%z : memref<2x512xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
  }
  return
}

// There are more rows than warps.
// CHECK-LABEL: func.func private @moreRowsThanWarps(
// CHECK-COUNT-4: linalg.generic
func.func private @moreRowsThanWarps(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<17x64xf32> {llvm.noalias}, %y: memref<17x64xf32> {llvm.noalias}, %z: memref<17x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<17xf32>
  %norm = memref.alloca() : memref<17x64xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<17xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<17x64xf32>) outs(%sum : memref<17xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.addf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<17x64xf32>, memref<17xf32>) outs(%norm : memref<17x64xf32>) {
    ^bb0(%in: f32, %s: f32, %o: f32):
      %a = arith.divf %in, %s : f32
      linalg.yield %a : f32
    }
    %one = memref.load %norm[%c0, %c0] : memref<17x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%one : f32) outs(%z : memref<17x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
  }
  return
}

// The vCTA has no other work, so threads compute several vCTAs instead.
// CHECK-LABEL: func.func private @alone(
// CHECK-COUNT-3: linalg.generic
func.func private @alone(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xf32> {llvm.noalias}, %y: memref<2x64xf32> {llvm.noalias}, %z: memref<2x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<2xf32>
  %norm = memref.alloca() : memref<2x64xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x64xf32>) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.addf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<2x64xf32>, memref<2xf32>) outs(%y : memref<2x64xf32>) {
    ^bb0(%in: f32, %s: f32, %o: f32):
      %a = arith.divf %in, %s : f32
      linalg.yield %a : f32
    }
  }
  return
}

// The operand of the sum is written before the second read.
// CHECK-LABEL: func.func private @written(
// CHECK-COUNT-4: linalg.generic
func.func private @written(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xf32> {llvm.noalias}, %y: memref<2x64xf32> {llvm.noalias}, %z: memref<2x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<2xf32>
  %norm = memref.alloca() : memref<2x64xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x64xf32>) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.addf %in, %o : f32
      linalg.yield %a : f32
    }
    memref.store %zero, %x[%c0, %c0] : memref<2x64xf32>
    linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<2x64xf32>, memref<2xf32>) outs(%norm : memref<2x64xf32>) {
    ^bb0(%in: f32, %s: f32, %o: f32):
      %a = arith.divf %in, %s : f32
      linalg.yield %a : f32
    }
    %one = memref.load %norm[%c0, %c0] : memref<2x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%one : f32) outs(%z : memref<2x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
  }
  return
}

// A row reads the sum of another row.
// CHECK-LABEL: func.func private @others(
// CHECK-COUNT-4: linalg.generic
func.func private @others(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<2x64xf32> {llvm.noalias}, %y: memref<2x64xf32> {llvm.noalias}, %z: memref<2x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<2xf32>
  %norm = memref.alloca() : memref<2x64xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #all], iterator_types = ["parallel"]} ins(%zero : f32) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x64xf32>) outs(%sum : memref<2xf32>) {
    ^bb0(%in: f32, %o: f32):
      %a = arith.addf %in, %o : f32
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [#rows, affine_map<(m, n) -> (1 - m)>, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<2x64xf32>, memref<2xf32>) outs(%norm : memref<2x64xf32>) {
    ^bb0(%in: f32, %s: f32, %o: f32):
      %a = arith.divf %in, %s : f32
      linalg.yield %a : f32
    }
    %one = memref.load %norm[%c0, %c0] : memref<2x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #rows], iterator_types = ["parallel", "parallel"]} ins(%one : f32) outs(%z : memref<2x64xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
  }
  return
}
