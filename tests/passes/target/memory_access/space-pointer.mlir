// A pointer to an address space begins at the first element of a buffer. `ark-use-tensor-cores` creates such pointers.
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-use-tensor-cores=threads=128 | FileCheck %s

// The offset of the buffer and that of the element count elements, which have two bytes.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x256xbf16
// CHECK: %[[TILE:.+]] = memref.subview %{{.+}} : memref<64x256xbf16> to memref<32x256xbf16, strided<[256, 1], offset: ?>>
// CHECK: %{{.+}}, %{{.+}}, %{{.+}}:2, %[[STRIDES:.+]]:2 = memref.extract_strided_metadata %[[TILE]]
// CHECK: %[[ROW:.+]] = arith.muli %{{.+}}, %[[STRIDES]]#0
// CHECK: %[[ELEMENT:.+]] = arith.addi %[[ROW]], %{{.+}}
// CHECK: %[[BYTES:.+]] = arith.muli %[[ELEMENT]], %c2
// CHECK: %{{.+}}, %[[OFFSET:.+]], %{{.+}}:2, %{{.+}}:2 = memref.extract_strided_metadata %[[TILE]]
// CHECK-NEXT: %[[BEGIN:.+]] = memref.extract_aligned_pointer_as_index %[[TILE]]
// CHECK-NEXT: %[[SIZE:.+]] = arith.constant 2 : index
// CHECK-NEXT: %[[DISTANCE:.+]] = arith.muli %[[OFFSET]], %[[SIZE]]
// CHECK-NEXT: %[[ADDRESS:.+]] = arith.addi %[[BEGIN]], %[[DISTANCE]]
// CHECK-NEXT: %[[NUMBER:.+]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK-NEXT: %[[GENERIC:.+]] = llvm.inttoptr %[[NUMBER]] : i64 to !llvm.ptr
// CHECK-NEXT: %[[POINTER:.+]] = llvm.addrspacecast %[[GENERIC]] : !llvm.ptr to !llvm.ptr<1>
// CHECK-NEXT: %[[COUNT:.+]] = arith.index_cast %[[BYTES]] : index to i64
// CHECK-NEXT: llvm.getelementptr %[[POINTER]][%[[COUNT]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// The weights are read through such pointers, and the activations with the loads of their buffer.
// CHECK: ld.global{{.*}} : (!llvm.ptr<1>)
// CHECK: vector.load %[[X]]
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 32)>(%v)
    %tile = memref.subview %w[%first, 0] [32, 256] [1, 1] : memref<64x256xbf16> to memref<32x256xbf16, strided<[256, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile : memref<8x256xbf16>, memref<32x256xbf16, strided<[256, 1], offset: ?>>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
    }
  }
  return
}

// -----

// Stages are temporaries in shared memory. Asynchronous copies read from pointers to global memory.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x256xbf16
// CHECK: %[[STAGES:.+]] = memref.alloca() {{.*}} : memref<16512xf32>
// CHECK: %[[BEGIN:.+]] = memref.extract_aligned_pointer_as_index %[[STAGES]]
// CHECK: %[[SHARED:.+]] = llvm.addrspacecast %{{.+}} : !llvm.ptr to !llvm.ptr<3>
// CHECK: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[GLOBAL:.+]] = llvm.addrspacecast %{{.+}} : !llvm.ptr to !llvm.ptr<1>
// CHECK: %[[TO:.+]] = llvm.getelementptr %[[SHARED]][%{{.+}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
// CHECK: %[[FROM:.+]] = llvm.getelementptr %[[GLOBAL]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 16

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 64)>(%v)
    %tile = memref.subview %w[%first, 0] [64, 256] [1, 1] : memref<128x256xbf16> to memref<64x256xbf16, strided<[256, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile : memref<64x256xbf16>, memref<64x256xbf16, strided<[256, 1], offset: ?>>) outs(%y : memref<64x64xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
    }
  }
  return
}
