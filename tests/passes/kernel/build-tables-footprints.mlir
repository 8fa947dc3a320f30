// RUN: ark-opt %s --ark-build-tables | FileCheck %s

// A footprint holds the offset of an operand in its value, and the strides of a view that is not dense.
// It marks an update that keeps the elements it does not overwrite.
// CHECK-LABEL: ark.kernel @partOfAValue
// CHECK-SAME: {access = "read", begin = 16 : i64, element = f32, offsets = ["d0", 0], shape = array<i64: 4, 4>, sizes = array<i64: 1, 4>, strides = array<i64: 8, 1>}
// CHECK-SAME: {access = "update", begin = 0 : i64, element = f32, offsets = ["d0", 0], shape = array<i64: 4, 4>, sizes = array<i64: 1, 4>, strides = array<i64: 4, 1>}
// CHECK-SAME: values = array<i64: 0, 1>, vctas = 4 : i64
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @partOfAValue(
      %x: memref<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
      %s: memref<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
    %right = memref.subview %x[0, 4] [4, 4] [1, 1]
        : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
    ark.task "copy" grid [4]
        ins(%right[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32, strided<[8, 1], offset: 4>>)
        outs(%s[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32>) attributes {ark.body = @body_copy, in_place} {
    ^bb0(%i: index, %a: memref<1x4xf32, strided<[8, 1], offset: ?>>, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
      ark.yield
    }
    ark.schedule "hand" sms = 1 {
      ark.semaphore @end arrivals = 1
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "copy" [0, 4]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body_copy(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
                               %x: memref<4x4xf32, strided<[8, 1]>>, %s: memref<4x4xf32>) {
    return
  }
}
