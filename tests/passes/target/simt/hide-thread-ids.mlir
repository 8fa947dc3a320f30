// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(ark-hide-thread-ids))' | FileCheck %s
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(ark-hide-thread-ids{threads=320}))' | FileCheck %s --check-prefix=ODD

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
gpu.module @module {
  // A body reads the id once, also if it has two reads. The mask is the range of the ids.
  // CHECK-LABEL: func.func private @body(
  // CHECK-NEXT: %[[ID:.+]] = gpu.thread_id x
  // CHECK-NEXT: %[[NARROW:.+]] = arith.index_cast %[[ID]] : index to i32
  // CHECK-NEXT: %[[OPAQUE:.+]] = llvm.inline_asm has_side_effects "", "=v,0" %[[NARROW]] : (i32) -> i32
  // CHECK-NEXT: %[[MASK:.+]] = arith.constant 255 : i32
  // CHECK-NEXT: %[[RANGE:.+]] = arith.andi %[[OPAQUE]], %[[MASK]] : i32
  // CHECK-NEXT: %[[THREAD:.+]] = arith.index_castui %[[RANGE]] : i32 to index
  // CHECK-NOT: gpu.thread_id x
  // CHECK: %[[Y:.+]] = gpu.thread_id y
  // CHECK: memref.store %{{.+}}, %{{.+}}[%[[THREAD]], %[[Y]]]
  // CHECK: memref.store %{{.+}}, %{{.+}}[%[[THREAD]], %[[Y]]]
  // The range of a number of threads that is no power of two ends at the next one.
  // ODD-LABEL: func.func private @body(
  // ODD: arith.constant 511 : i32
  func.func private @body(%value: i32, %x: memref<320x1xi32>) attributes {ark.work_item_vctas = 1 : i64} {
    %y = gpu.thread_id y
    %first = gpu.thread_id x
    memref.store %value, %x[%first, %y] : memref<320x1xi32>
    %second = gpu.thread_id x
    memref.store %value, %x[%second, %y] : memref<320x1xi32>
    func.call @of_bodies() : () -> ()
    func.call @of_all() : () -> ()
    return
  }
  // Only a body, and a function that only bodies call, call these two functions.
  // CHECK-LABEL: func.func private @of_bodies(
  // CHECK: llvm.inline_asm
  func.func private @of_bodies() {
    %thread = gpu.thread_id x
    func.call @use(%thread) : (index) -> ()
    func.call @deep() : () -> ()
    return
  }
  // CHECK-LABEL: func.func private @deep(
  // CHECK: llvm.inline_asm
  func.func private @deep() {
    %thread = gpu.thread_id x
    func.call @use(%thread) : (index) -> ()
    return
  }
  // The loop over work items calls this function, too.
  // CHECK-LABEL: func.func private @of_all(
  // CHECK-NOT: llvm.inline_asm
  // CHECK: return
  func.func private @of_all() {
    %thread = gpu.thread_id x
    func.call @use(%thread) : (index) -> ()
    return
  }
  // CHECK-LABEL: func.func private @loop(
  // CHECK-NOT: llvm.inline_asm
  // CHECK: return
  func.func private @loop() {
    %thread = gpu.thread_id x
    func.call @use(%thread) : (index) -> ()
    func.call @of_all() : () -> ()
    return
  }
  // A function that nothing calls is no part of a work item.
  // CHECK-LABEL: func.func private @unused(
  // CHECK-NOT: llvm.inline_asm
  // CHECK: return
  func.func private @unused() {
    %thread = gpu.thread_id x
    func.call @use(%thread) : (index) -> ()
    return
  }
  // A body without a thread id stays as it is.
  // CHECK-LABEL: func.func private @other(
  // CHECK-NEXT: return
  func.func private @other() attributes {ark.work_item_vctas = 1 : i64} {
    return
  }
  func.func private @use(index)
}
}
