// On an AMD GPU, ids are made opaque by an empty inline assembly without an instruction, and not by PTX.
// RUN: ark-opt %s --ark-map-to-threads='threads=512 warp-size=64' | FileCheck %s --implicit-check-not=mov --implicit-check-not=tid

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @rematerialised, operands = 0 : i64}, {function = @highPressure, operands = 0 : i64}, {function = @branchBefore, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Each vCTA rematerialises its own id and the thread's id.
// CHECK-LABEL: func.func private @rematerialised(
// CHECK: gpu.thread_id x
// CHECK: %[[ID:.+]] = gpu.thread_id x
// CHECK-NEXT: %[[SHORT:.+]] = arith.index_cast %[[ID]] : index to i32
// CHECK: scf.for %[[VCTA:.+]] = %
// CHECK-NEXT: %[[NARROW:.+]] = arith.index_cast %[[VCTA]] : index to i32
// CHECK-NEXT: %[[MOVED:.+]] = llvm.inline_asm has_side_effects "", "=v,0" %[[NARROW]] : (i32) -> i32
// CHECK-NEXT: %[[ANEW:.+]] = arith.index_castui %[[MOVED]] : i32 to index
// CHECK-NEXT: %[[READ:.+]] = llvm.inline_asm has_side_effects "", "=v,0" %[[SHORT]] : (i32) -> i32
// CHECK-NEXT: %[[THREAD:.+]] = arith.index_castui %[[READ]] : i32 to index
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[ANEW]], %[[THREAD]]]
func.func private @rematerialised(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<512xf32>, %y: memref<8x512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %s = memref.alloca() : memref<512xf32>
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c512) step (%c1) {
      %a = memref.load %x[%i] : memref<512xf32>
      memref.store %a, %s[%i] : memref<512xf32>
      scf.reduce
    }
    scf.forall (%i) in (512) {
      %a = memref.load %s[%i] : memref<512xf32>
      memref.store %a, %y[%v, %i] : memref<8x512xf32>
    } {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
  }
  return
}
// A loop that needs most registers uses an opaque thread id, and so does the code behind it.
// CHECK-LABEL: func.func private @highPressure(
// CHECK: %[[INSIDE:.+]] = llvm.inline_asm has_side_effects "", "=v,0"
// CHECK: %[[IN:.+]] = arith.index_castui %[[INSIDE]] : i32 to index
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[IN]]]
// CHECK: llvm.inline_asm has_side_effects "", "=v,0"
func.func private @highPressure(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<512xf32>, %y: memref<512xf32>) {
  scf.forall (%i) in (512) {
    %a = memref.load %x[%i] : memref<512xf32>
    memref.store %a, %y[%i] : memref<512xf32>
  } {ark.high_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
  return
}
// One thread takes a branch before the loop over vCTAs, such as the report of an index out of bounds. The id that the
// loop rematerialises lies behind the branch.
// CHECK-LABEL: func.func private @branchBefore(
// CHECK: scf.if
// CHECK: call @report
// CHECK-NOT: gpu.thread_id
// CHECK: {{^    }$}}
// CHECK: %[[ID:.+]] = gpu.thread_id x
// CHECK-NEXT: arith.index_cast %[[ID]] : index to i32
// CHECK: scf.for
func.func private @report(index)
func.func private @branchBefore(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<512xf32>, %y: memref<8x512xf32>, %index: index) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 0.0 : f32
  %outside = arith.cmpi uge, %index, %c8 : index
  scf.if %outside {
    memref.store %f, %x[%c1] : memref<512xf32>
    func.call @report(%index) : (index) -> ()
  }
  scf.for %v = %begin to %end step %c1 {
    scf.forall (%i) in (512) {
      %a = memref.load %x[%i] : memref<512xf32>
      memref.store %a, %y[%v, %i] : memref<8x512xf32>
    } {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
  }
  return
}
}
