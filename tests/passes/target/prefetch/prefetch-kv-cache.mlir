// RUN: ark-opt %s --ark-prefetch-kv-cache=threads=16 | FileCheck %s

#q = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d1, d2)>
#s = affine_map<(d0, d1, d2) -> (d0, d1)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @keys, operands = 4 : i64}, {function = @received, operands = 4 : i64}, {function = @fixed, operands = 4 : i64}, {function = @noPackets, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 1024 : i64}

// Before it polls, each thread prefetches one or more lines of 128 bytes, a row each, up
// to the number of keys. Hence the load of this number moves before the polls, too.
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME: %[[K:[^:]+]]: memref<32x64xbf16>
// CHECK: scf.for
// CHECK: %[[SIZE:.+]] = arith.minui
// CHECK: %[[KEYS:.+]] = memref.subview %[[K]][0, 0] [%[[SIZE]], 64]
// CHECK: scf.forall (%[[THREAD:.+]]) in (16)
// CHECK: %{{.+}}, %{{.+}}, %[[SIZES:.+]]:2, %{{.+}}:2 = memref.extract_strided_metadata %[[KEYS]]
// CHECK: %[[LINES:.+]] = arith.muli %[[SIZES]]#0, %c1
// CHECK: %[[FIRST:.+]] = arith.addi %[[THREAD]], %c0
// CHECK: %[[IS_THERE:.+]] = arith.cmpi slt, %[[FIRST]], %[[LINES]]
// CHECK: scf.if %[[IS_THERE]]
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK: %[[SECOND:.+]] = arith.addi %[[THREAD]], %c16
// CHECK: arith.cmpi slt, %[[SECOND]], %[[LINES]]
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK: ark.receive_packets
// CHECK-NOT: memref.subview %[[K]]
// CHECK: linalg.generic {{.+}} ins(%{{.+}}, %[[KEYS]] :
func.func private @keys(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x64xi32> {ark.packets, llvm.noalias},
    %n: memref<index> {llvm.noalias}, %k: memref<32x64xbf16> {llvm.noalias}, %y: memref<4x32xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %q = memref.alloca() : memref<4x64xbf16>
  %before = memref.load %n[] : memref<index>
  scf.for %v = %begin to %end step %c1 {
    ark.receive_packets %p to %q : memref<4x64xi32> to memref<4x64xbf16>
    %c20 = arith.constant 20 : index
    %size = arith.minui %before, %c20 : index
    %keys = memref.subview %k[0, 0] [%size, 64] [1, 1] : memref<32x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %y[0, 0] [4, %size] [1, 1] : memref<4x32xf32> to memref<4x?xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q, %keys : memref<4x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) outs(%scores : memref<4x?xf32, strided<[32, 1]>>) {
    ^bb0(%a: bf16, %b: bf16, %o: f32):
      %x = arith.extf %a : bf16 to f32
      %z = arith.extf %b : bf16 to f32
      %m = arith.mulf %x, %z : f32
      %sum = arith.addf %o, %m : f32
      linalg.yield %sum : f32
    }
  }
  return
}

// The number of keys is loaded only after the poll, so it is not known before.
// CHECK-LABEL: func.func private @received(
// CHECK-NOT: prefetch
func.func private @received(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x64xi32> {ark.packets, llvm.noalias},
    %n: memref<index> {llvm.noalias}, %k: memref<32x64xbf16> {llvm.noalias}, %y: memref<4x32xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %q = memref.alloca() : memref<4x64xbf16>
  %before = memref.load %n[] : memref<index>
  scf.for %v = %begin to %end step %c1 {
    ark.receive_packets %p to %q : memref<4x64xi32> to memref<4x64xbf16>
    %size = memref.load %n[] : memref<index>
    %keys = memref.subview %k[0, 0] [%size, 64] [1, 1] : memref<32x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %y[0, 0] [4, %size] [1, 1] : memref<4x32xf32> to memref<4x?xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q, %keys : memref<4x64xbf16>, memref<?x64xbf16, strided<[64, 1]>>) outs(%scores : memref<4x?xf32, strided<[32, 1]>>) {
    ^bb0(%a: bf16, %b: bf16, %o: f32):
      %x = arith.extf %a : bf16 to f32
      %z = arith.extf %b : bf16 to f32
      %m = arith.mulf %x, %z : f32
      %sum = arith.addf %o, %m : f32
      linalg.yield %sum : f32
    }
  }
  return
}

// Rows that every work item reads are not prefetched here.
// CHECK-LABEL: func.func private @fixed(
// CHECK-NOT: prefetch
func.func private @fixed(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x64xi32> {ark.packets, llvm.noalias},
    %n: memref<index> {llvm.noalias}, %k: memref<32x64xbf16> {llvm.noalias}, %y: memref<4x32xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %q = memref.alloca() : memref<4x64xbf16>
  %before = memref.load %n[] : memref<index>
  scf.for %v = %begin to %end step %c1 {
    ark.receive_packets %p to %q : memref<4x64xi32> to memref<4x64xbf16>
    %keys = memref.subview %k[0, 0] [16, 64] [1, 1] : memref<32x64xbf16> to memref<16x64xbf16, strided<[64, 1]>>
    %scores = memref.subview %y[0, 0] [4, 16] [1, 1] : memref<4x32xf32> to memref<4x16xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q, %keys : memref<4x64xbf16>, memref<16x64xbf16, strided<[64, 1]>>) outs(%scores : memref<4x16xf32, strided<[32, 1]>>) {
    ^bb0(%a: bf16, %b: bf16, %o: f32):
      %x = arith.extf %a : bf16 to f32
      %z = arith.extf %b : bf16 to f32
      %m = arith.mulf %x, %z : f32
      %sum = arith.addf %o, %m : f32
      linalg.yield %sum : f32
    }
  }
  return
}

// The body does not poll, so a prefetch would not overlap with anything.
// CHECK-LABEL: func.func private @noPackets(
// CHECK-NOT: prefetch
func.func private @noPackets(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %k: memref<32x64xbf16>, %y: memref<32x64xbf16>) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    %keys = memref.subview %k[0, 0] [%v, 64] [1, 1] : memref<32x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    %out = memref.subview %y[0, 0] [%v, 64] [1, 1] : memref<32x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
    linalg.copy ins(%keys : memref<?x64xbf16, strided<[64, 1]>>) outs(%out : memref<?x64xbf16, strided<[64, 1]>>)
  }
  return
}
