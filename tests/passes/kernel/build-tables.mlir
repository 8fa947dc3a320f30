// RUN: ark-opt %s --split-input-file --ark-build-tables | FileCheck %s

// Slot 0 is the arena, and the arguments follow. The operands of a task follow those of the previous
// task. Offsets are in bytes.
// CHECK-NOT: ark.program
// CHECK-LABEL: ark.kernel @tablesOfTwoTasks
// CHECK-SAME: {arena = 256 : i64,
// CHECK-SAME: bodies = [{footprints = {{\[\[}}
// CHECK-SAME:   {access = "read", begin = 0 : i64, element = f32, offsets = {{\[\[}}"*", "d0", 8]], shape = array<i64: 16>, sizes = array<i64: 8>, strides = array<i64: 1>},
// CHECK-SAME:   {access = "write", begin = 0 : i64, element = f32, offsets = {{\[\[}}"*", "d0", 8]], shape = array<i64: 16>, sizes = array<i64: 8>, strides = array<i64: 1>}]],
// CHECK-SAME:   function = @body_square, operands = 2 : i64}],
// CHECK-SAME: buffers = [{bytes = 64 : i64, kind = "input", name = "x", type = memref<16xf32>},
// CHECK-SAME:            {bytes = 64 : i64, kind = "output", name = "y", type = memref<16xf32>}],
// CHECK-SAME: entry = @ark_kernel,
// CHECK-SAME: instructions = dense<{{\[}}[0, 0, 0, 2], [1, 0, 0, 0], [3, 1, 2, 0], [2, 0, 1, 0], [0, 1, 0, 2], [3, 1, 2, 0]]> : tensor<6x4xi32>,
// CHECK-SAME: intermediates = array<i64: 0, 192, 64>,
// CHECK-SAME: lanes = dense<{{\[}}[0, 0, 3], [1, 3, 6]]> : tensor<2x3xi32>,
// CHECK-SAME: operands = dense<{{\[}}[1, 0], [0, 192], [0, 192], [2, 0]]> : tensor<4x2xi64>,
// CHECK-SAME: semaphores = [{arrivals = 1 : i64, handoff = "{{[a-z_]+}}", name = "done"}, {arrivals = 2 : i64, handoff = "barrier", name = "end"}],
// CHECK-SAME: sms = 2 : i64,
// CHECK-SAME: statistics = {barriers = 2 : i64, largest_live_set = 64 : i64, memory_limit = 128 : i64, predicted_ns = 700 : i64, signals = 1 : i64, vctas = 4 : i64, waits = 1 : i64},
// CHECK-SAME: task_table = dense<{{\[}}[0, 0], [0, 2]]> : tensor<2x2xi32>,
// CHECK-SAME: tasks = [{body = 0 : i64, bytes = 128 : i64, {{[^{}]*}}grid = array<i64: 2>, location = "model.py:7", name = "first", ops = ["square"], values = array<i64: 0, 2>, vctas = 2 : i64},
// CHECK-SAME:          {body = 0 : i64, bytes = 128 : i64, {{[^{}]*}}grid = array<i64: 2, 1>, location = "model.py:8", name = "second", ops = [], values = array<i64: 2, 1>, vctas = 2 : i64}]
// CHECK-SAME: timeline = dense<{{.+}}> : tensor<6x2xi64>}
// CHECK-NOT: ark.program
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @tablesOfTwoTasks(
      %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
      %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) attributes {ark.largest_live_set = 64 : i64, ark.memory_limit = 128 : i64} {
    %arena = ark.arena : memref<256xi8>
    %c192 = arith.constant 192 : index
    %0 = memref.view %arena[%c192][] : memref<256xi8> to memref<16xf32>
    ark.task "first" grid [2]
        ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>)
        outs(%0[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) attributes {ark.body = @body_square, ops = ["square"]} {
    ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
      linalg.square ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32, strided<[1], offset: ?>>)
      ark.yield
    } loc("model.py":7:3)
    ark.task "second" grid [2, 1]
        ins(%0[#ark.region<(d0, d1) -> (d0 * 8), [8]>] : memref<16xf32>)
        outs(%y[#ark.region<(d0, d1) -> (d0 * 8), [8]>] : memref<16xf32>) attributes {ark.body = @body_square} {
    ^bb0(%i: index, %j: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
      linalg.square ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32, strided<[1], offset: ?>>)
      ark.yield
    } loc(fused["name", callsite("f"("model.py":8:3) at "main.py":1:1)])
    ark.schedule "hand" sms = 2 predicted_ns = 700 {
      ark.semaphore @done arrivals = 1
      ark.semaphore @end arrivals = 2 handoff = barrier
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "first" [0, 2]
        ark.signal @done
        ark.barrier @end
      }
      ark.lane sms = [1, 2] warps = [0, 1] {
        ark.wait @done
        ark.run "second" [0, 2]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body_square(index, index, index, memref<4xi64>, memref<16xf32>, memref<16xf32>)
}

// -----

// A lane op yields one lane for every SM. The tables omit a work item or prefetch without vCTAs.
// CHECK-LABEL: ark.kernel @laneOfManySms
// CHECK-SAME: arena = 0 : i64
// CHECK-SAME: instructions = dense<{{\[}}[0, 0, 0, 1], [3, 0, 3, 0], [3, 0, 3, 0], [0, 0, 1, 2], [3, 0, 3, 0]]> : tensor<5x4xi32>
// CHECK-SAME: lanes = dense<{{\[}}[0, 0, 2], [1, 2, 3], [2, 3, 5]]> : tensor<3x3xi32>
// CHECK-SAME: vctas = 2 : i64, waits = 0 : i64}
// CHECK-SAME: timeline = dense<{{.+}}> : tensor<5x2xi64>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @laneOfManySms(
      %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
      %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
    ark.task "t" grid [2]
        ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>)
        outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) attributes {ark.body = @body} {
    ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
      ark.yield
    }
    ark.schedule "hand" sms = 3 {
      ark.semaphore @end arrivals = 3 handoff = barrier
      ark.lane sms = [0, 3] warps = [0, 1] {
        ark.prefetch "t" operand = 0 [0, 1]
        ark.run "t" [(d0 + 1) floordiv 2, (d0 + 2) floordiv 2]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body(index, index, index, memref<4xi64>, memref<16xf32>, memref<16xf32>)
}

// -----

// The tables list all buffers that the runtime binds or fills. A bool is a
// byte; a splat is expanded.
// CHECK-LABEL: ark.kernel @buffers
// CHECK-SAME: buffers = [{bytes = 16 : i64, init = -1.000000e+00 : f32, kind = "state", name = "s", type = memref<4xf32>},
// CHECK-SAME:            {bytes = 8 : i64, kind = "scalar", max = 7 : i64, name = "n", type = memref<i64>},
// CHECK-SAME:            {bytes = 3 : i64, data = dense<[1, 0, 1]> : tensor<3xi8>, kind = "constant", name = "bits", type = memref<3xi1>},
// CHECK-SAME:            {bytes = 4 : i64, data = dense<[1, 2, 1, 2]> : tensor<4xi8>, kind = "constant", name = "splat", type = memref<2xi16>},
// CHECK-SAME:            {bytes = 8 : i64, data = dense<[0, 0, -128, 63, 0, 0, 0, 64]> : tensor<8xi8>, kind = "constant", name = "floats", type = memref<2xf32>}]
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @buffers(
      %s: memref<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.init = -1.0 : f32},
      %n: memref<i64> {ark.kind = #ark.kind<scalar>, ark.name = "n", ark.max = 7 : i64},
      %c: memref<3xi1> {ark.kind = #ark.kind<constant>, ark.name = "bits", ark.value = dense<[true, false, true]> : tensor<3xi1>},
      %d: memref<2xi16> {ark.kind = #ark.kind<constant>, ark.name = "splat", ark.value = dense<513> : tensor<2xi16>},
      %e: memref<2xf32> {ark.kind = #ark.kind<constant>, ark.name = "floats", ark.value = dense<[1.0, 2.0]> : tensor<2xf32>}) {
    ark.schedule "hand" sms = 1 {
      ark.semaphore @end arrivals = 1 handoff = barrier
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.barrier @end
      }
    }
    ark.return
  }
}

// -----

// The stop instruction follows the last task that writes the state, on the lane
// that runs this task. The state is slot 1.
// CHECK-LABEL: ark.kernel @stop
// CHECK-SAME: instructions = dense<{{\[}}[0, 0, 0, 1], [1, 0, 0, 0], [3, 1, 2, 0], [2, 0, 1, 0], [0, 1, 0, 1], [5, 1, 0, 0], [3, 1, 2, 0]]> : tensor<7x4xi32>
// CHECK-SAME: lanes = dense<{{\[}}[0, 0, 3], [1, 3, 7]]> : tensor<2x3xi32>
// CHECK-SAME: timeline = dense<{{.+}}> : tensor<7x2xi64>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @stop(%done: memref<1xi32> {ark.kind = #ark.kind<state>, ark.name = "done", ark.stop}) {
    ark.task "clear" grid [1] ins()
        outs(%done[#ark.region<(d0) -> (0), [1]>] : memref<1xi32>) attributes {ark.body = @body} {
    ^bb0(%i: index, %a: memref<1xi32, strided<[1], offset: ?>>):
      ark.yield
    }
    ark.task "set" grid [1] ins()
        outs(%done[#ark.region<(d0) -> (0), [1]>] : memref<1xi32>) attributes {ark.body = @body} {
    ^bb0(%i: index, %a: memref<1xi32, strided<[1], offset: ?>>):
      ark.yield
    }
    ark.schedule "hand" sms = 2 {
      ark.semaphore @cleared arrivals = 1
      ark.semaphore @end arrivals = 2 handoff = barrier
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "clear" [0, 1]
        ark.signal @cleared
        ark.barrier @end
      }
      ark.lane sms = [1, 2] warps = [0, 1] {
        ark.wait @cleared
        ark.run "set" [0, 1]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body(index, index, index, memref<4xi64>, memref<1xi32>)
}

// -----

// A program without tasks gets one lane without instructions.
// CHECK-LABEL: ark.kernel @noTasks
// CHECK-SAME: instructions = dense<> : tensor<0x4xi32>
// CHECK-SAME: lanes = dense<0> : tensor<1x3xi32>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @noTasks(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
    ark.schedule "hand" sms = 2 {
    }
    ark.return
  }
}

// -----

// Bodies for GPUs assume buffers that are aligned for wide loads.
// CHECK-LABEL: ark.kernel @alignedBuffers
// CHECK-SAME: buffers = [{alignment = 16 : i64, bytes = 16 : i64, kind = "input", name = "x", type = memref<4xf32>}]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 16,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @alignedBuffers(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
    ark.schedule "hand" sms = 2 {
    }
    ark.return
  }
}

// -----

// Bodies for a cpu assume the alignment of the element type, and of the types of views of the buffer.
// CHECK-LABEL: ark.kernel @bytesOfAnotherType
// CHECK-SAME: buffers = [{alignment = 4 : i64, bytes = 16 : i64, kind = "input", name = "x", type = memref<16xi8>},
// CHECK-SAME:            {bytes = 16 : i64, kind = "input", name = "w", type = memref<4xf32>}]
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @bytesOfAnotherType(
      %x: memref<16xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
      %w: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "w"}) {
    %0 = ark.buffer_cast %x : memref<16xi8> to memref<8xf16>
    %1 = ark.buffer_cast %x : memref<16xi8> to memref<4xf32>
    %2 = ark.buffer_cast %w : memref<4xf32> to memref<16xui8>
    ark.schedule "hand" sms = 2 {
    }
    ark.return
  }
}

// -----

// A module without a program gets no kernel.
// CHECK-LABEL: module @noProgram
// CHECK-NEXT: }
module @noProgram {}
