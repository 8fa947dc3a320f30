// `ark-stream-weights` reads the tables of a kernel: the work items of each lane, and the operands of their tasks.
// RUN: sed -e 's/KIND/parameter/' -e 's/OFFSET/4096/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s
// RUN: sed -e 's/KIND/constant/' -e 's/OFFSET/4096/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s

// A weight is a parameter or a constant in all tasks of the body, and its address suits bulk copies: not an input, not
// an offset that is not a multiple of 16, and not an argument whose alignment is less than 16 or unknown.
// RUN: sed -e 's/KIND/input/' -e 's/OFFSET/4096/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/KIND/state/' -e 's/OFFSET/4096/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/KIND/parameter/' -e 's/OFFSET/4104/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/KIND/parameter/' -e 's/OFFSET/4096/' -e 's/ALIGN/8/' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/KIND/parameter/' -e 's/OFFSET/4096/' -e 's/{llvm.align = ALIGN : i64}//' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// Slot 0 is the arena.
// RUN: sed -e 's/KIND/parameter/' -e 's/\[2, OFFSET\]/[0, 4096]/' -e 's/ALIGN/16/' %s | ark-opt --ark-stream-weights | FileCheck %s --check-prefix=NONE
// NONE-NOT: ark_stream_segment_table
// NONE: linalg.generic

// Lane 0 has one work item of the body, between items of other kinds and a work item of another body; lane 1 has two.
// A segment holds the slot of the weight, the offset of the first row in bytes (rows have 1024 bytes), and the
// number of chunks with their size: 16 chunks of 1024 bytes are 16 + 1024 * 2^32, 4398046511120. The third
// segment has 8 chunks.
// CHECK: @ark_stream_segment_table(dense<[0, 1, 3,
// CHECK-SAME: 2, 4096, 4398046511120,
// CHECK-SAME: 3, 16384, 4398046511120,
// CHECK-SAME: 2, 36864, 4398046511112]> : tensor<12xi64>)
// The temporary has room for the products of the longest work item, 16 vCTAs.
// CHECK-LABEL: func.func private @product(
// CHECK: memref.alloca() {{.*}} : memref<1x16xf32>

#row = affine_map<(d0, d1, d2) -> (d0, d2)>
#weights = affine_map<(d0, d1, d2) -> (d1, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 1024 : i64,
    bodies = [{function = @other, operands = 0 : i64}, {function = @product, operands = 3 : i64}],
    buffers = [{kind = "input", name = "x"}, {kind = "KIND", name = "w"}, {kind = "constant", name = "v"}, {kind = "output", name = "y"}],
    tasks = [{}, {}, {}],
    operands = dense<[[1, 0], [2, OFFSET], [4, 0], [1, 0], [3, 0], [4, 0]]> : tensor<6x2xi64>,
    task_table = dense<[[1, 0], [0, 0], [1, 3]]> : tensor<3x2xi32>,
    instructions = dense<[[2, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 64], [0, 0, 0, 16], [3, 0, 2, 0],
                          [0, 2, 16, 32], [0, 0, 32, 40], [3, 0, 2, 0]]> : tensor<8x4xi32>,
    lanes = dense<[[0, 0, 5], [1, 5, 8]]> : tensor<2x3xi32>,
    semaphores = [{arrivals = 2 : i64, handoff = "barrier", name = "end"}], timeline = dense<0> : tensor<8x2xi64>}
func.func private @other(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  return
}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<1x512xbf16> {llvm.align = 16 : i64}, %w: memref<64x512xbf16> {llvm.align = ALIGN : i64}, %y: memref<1x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %zero = arith.constant 0.000000e+00 : f32
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %rows = memref.subview %w[%i, 0] [1, 512] [1, 1] : memref<64x512xbf16> to memref<1x512xbf16, strided<[512, 1], offset: ?>>
    %out = memref.subview %y[0, %i] [1, 1] [1, 1] : memref<1x64xf32> to memref<1x1xf32, strided<[64, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%out : memref<1x1xf32, strided<[64, 1], offset: ?>>)
    linalg.generic {indexing_maps = [#row, #weights, #result], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %rows : memref<1x512xbf16>, memref<1x512xbf16, strided<[512, 1], offset: ?>>) outs(%out : memref<1x1xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%a: bf16, %b: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %b : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}
// The functions of the kernel's text.
func.func private @ark_stream_polls() -> i32
func.func private @ark_stream_depth() -> i32
func.func private @ark_stream_first_segment() -> i64
func.func private @ark_stream_lane() -> !llvm.ptr<3>
func.func private @ark_stream_request_interval() -> i32
func.func private @ark_stream_segments() -> !llvm.ptr<1>
func.func private @ark_stream_table() -> !llvm.ptr<3>
func.func private @ark_stream_warps() -> !llvm.ptr<3>
func.func private @ark_stream_barriers() -> !llvm.ptr<3>
func.func private @ark_stream_slots() -> !llvm.ptr<3>
func.func private @ark_stream_slot_bytes() -> i32
func.func private @ark_stream_prefetch_depth() -> i32
func.func private @ark_stream_begin(!llvm.ptr, i64, i64)
func.func private @ark_stream_end()
func.func private @ark_stream_before_wait()
func.func private @ark_stream_after_wait()
func.func private @ark_stream_during_wait()
func.func private @ark_stream_poll()
func.func private @ark_stream_end_work_item()
func.func private @ark_stream_begin_work_item(i32)
func.func private @ark_stream_open() -> (index, index, i32, i32, i32, i32, i32, i32, i64)
func.func private @ark_stream_consumer_wait(i32) -> !llvm.ptr<3>
func.func private @ark_stream_consumer_release(i32, i32, i32, i32, i32, i64) -> (i32, i32, i32, i32, i32, i64)
func.func private @ark_stream_close(i32, i32, i32, i32, i32, i32, i64)
func.func private @ark_begin_stream(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) {
  return
}
func.func private @ark_end_stream() {
  return
}
func.func private @ark_begin_wait() {
  return
}
func.func private @ark_end_wait() {
  return
}
func.func private @ark_idle() {
  return
}
func.func private @ark_end_work_item() {
  return
}
func.func private @ark_poll() {
  return
}
}
