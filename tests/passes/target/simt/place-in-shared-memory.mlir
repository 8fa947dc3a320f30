// RUN: ark-opt %s --split-input-file --ark-place-in-shared-memory | FileCheck %s

// CHECK: llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// The kernel states the size of the shared memory that a launch needs.
// CHECK: ark.kernel @k {{.*}}shared_memory = 256 : i64
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: %[[BASE:.+]] = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
// CHECK-NEXT: %[[FIRST:.+]] = llvm.getelementptr %[[BASE]][0]
// CHECK-NEXT: llvm.addrspacecast %[[FIRST]] : !llvm.ptr<3> to !llvm.ptr
// CHECK: %[[A:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<5xf32>
// Each temporary begins at its own cache line.
// CHECK: llvm.getelementptr %{{.+}}[128]
// CHECK: %[[B:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<f32>
// CHECK: memref.load %[[A]]
// CHECK: memref.store %{{.+}}, %[[B]][]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() : memref<5xf32>
  %b = memref.alloca() : memref<f32>
  %x = memref.load %a[%begin] : memref<5xf32>
  memref.store %x, %b[] : memref<f32>
  return
}

// -----

// A temporary with a larger alignment begins at a multiple of it.
// CHECK: ark.kernel @k {{.*}}shared_memory = 1280 : i64
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: llvm.getelementptr %{{.+}}[0]
// CHECK: llvm.getelementptr %{{.+}}[1024]
// CHECK: llvm.getelementptr %{{.+}}[1152]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() : memref<5xf32>
  %b = memref.alloca() {alignment = 1024 : i64} : memref<f32>
  %c = memref.alloca() : memref<f32>
  %x = memref.load %a[%begin] : memref<5xf32>
  memref.store %x, %b[] : memref<f32>
  memref.store %x, %c[] : memref<f32>
  return
}

// -----

// A body without temporaries needs no shared memory.
// CHECK-NOT: ark_shared_memory
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  return
}
