//===- Passes.td - Passes of the memory stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_PASSES_TD
#define ARK_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// From tensors to buffers, in the order in which the passes run
//===----------------------------------------------------------------------===//

def ResolveViewsPass : Pass<"ark-resolve-views", "::mlir::ark::ProgramOp"> {
  let summary = "Make every view of a tensor expressible by strides";
  let description = [{
    A view costs nothing if an offset and strides into the buffer of its base express it. The pass
    gives each task result the order of dimensions that needs the fewest copies. For each remaining
    view without strides, it inserts a task that copies, with a remark.

    ```mlir
    // %0 is laid out as [4, 64, 12, 32]: no copy.
    %1 = ark.transpose %0 perm = [0, 2, 1, 3] : (tensor<4x12x64x32xf32>) -> tensor<4x64x12x32xf32>
    %2 = ark.reshape %1 shape = [256, 384] : (tensor<4x64x12x32xf32>) -> tensor<256x384xf32>

    // %x is an argument, whose layout is given.
    %3 = ark.transpose %x perm = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %4 = ark.reshape %3 shape = [128] : (tensor<16x8xf32>) -> tensor<128xf32>
    ```
    becomes, for the latter,
    ```mlir
    %3 = ark.transpose %x perm = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    %c = ark.task "copy" grid [1] ins(%3[...]) outs(%e[...]) {...} : tensor<16x8xf32>
    %4 = ark.reshape %c shape = [128] : (tensor<16x8xf32>) -> tensor<128xf32>
    ```

    A result of the program is copied as well, unless a task fills it for this result alone. A value
    that `ark.identity` names in `after` becomes an input of the tasks that read the identity,
    because only accesses order tasks on buffers.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numCopies", "copies", "Tasks inserted that copy a tensor">,
  ];
}

def BufferizeProgramPass : Pass<"ark-bufferize-program", "::mlir::ark::ProgramOp"> {
  let summary = "Bufferize the tensors between tasks";
  let description = [{
    Arguments become dense buffers. Results become `output` arguments, which their producers fill.
    Constants become `constant` arguments with `ark.value`; equal constants share one argument, and
    a splat has one element. A `memref.alloc` holds every other result of a task, in the order of
    dimensions that `ark-resolve-views` chose. A view becomes one `memref.reinterpret_cast` of the
    whole buffer. An update in place works on the buffer of the updated tensor.

    Tasks are reordered so that a task which updates a state follows the tasks that read the old
    value; an error names the tasks if no such order exists. Bodies still compute on tensors.

    ```mlir
    ark.program @p(%x: tensor<32x16xf32> {...}) -> (tensor<16x32xf32> {ark.name = "y"}) {
      %0 = tensor.empty() : tensor<16x32xf32>
      %1 = ark.transpose %x perm = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
      %2 = ark.task "relu" grid [1] ins(%1[...] : tensor<16x32xf32>) outs(%0[...] : tensor<16x32xf32>) {
      ^bb0(%i: index, %a: tensor<16x32xf32>, %o: tensor<16x32xf32>):
        ...
        ark.yield %r : tensor<16x32xf32>
      } : tensor<16x32xf32>
      ark.return %2 : tensor<16x32xf32>
    }
    ```
    becomes
    ```mlir
    ark.program @p(%x: memref<32x16xf32> {...},
                   %y: memref<16x32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
      %0 = memref.reinterpret_cast %x to offset: [0], sizes: [16, 32], strides: [1, 16] : ...
      ark.task "relu" grid [1] ins(%0[...] : memref<16x32xf32, strided<[1, 16]>>)
          outs(%y[...] : memref<16x32xf32>) {
      ^bb0(%i: index, %a: memref<16x32xf32, strided<[1, 16], offset: ?>>,
           %o: memref<16x32xf32, strided<[32, 1], offset: ?>>):
        %in = bufferization.to_tensor %a restrict : ...
        %out = bufferization.to_tensor %o restrict writable : ...
        ...
        %d = bufferization.materialize_in_destination %r in %out : ...
        bufferization.materialize_in_destination %d in restrict writable %o : ...
        ark.yield
      }
      ark.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def BufferizeBodiesPass : Pass<"ark-bufferize-bodies", "::mlir::ark::TaskOp"> {
  let summary = "Bufferize the bodies of tasks";
  let description = [{
    Runs One-Shot Bufferize on the body of a task, so that values for a tile of `outs` are computed
    in the tile. Temporaries are `memref.alloc` of static size. If the extents of a tile depend on
    the vCTA, its temporaries have the extents of the region, and a `memref.subview` selects the
    used part.

    ```mlir
    %in = bufferization.to_tensor %a restrict : memref<16x32xf32, ...> to tensor<16x32xf32>
    %out = bufferization.to_tensor %o restrict writable : memref<16x32xf32, ...> to tensor<16x32xf32>
    %r = linalg.exp ins(%in : tensor<16x32xf32>) outs(%out : tensor<16x32xf32>) -> tensor<16x32xf32>
    %d = bufferization.materialize_in_destination %r in %out : ...
    bufferization.materialize_in_destination %d in restrict writable %o : ...
    ```
    becomes
    ```mlir
    linalg.exp ins(%a : memref<16x32xf32, ...>) outs(%o : memref<16x32xf32, ...>)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def HandOverPacketsPass : Pass<"ark-hand-over-packets", "::mlir::ark::ProgramOp"> {
  let summary = "Pass small activations between tasks as LL packets";
  let description = [{
    Passes small intermediates of 16-bit floats as LL packets: words with a value and the epoch.
    The producing task writes packets. Tasks whose vCTAs read rows with whole vector loads of four
    packets (whole rows, or half of a head) receive the packets into a temporary. All other tasks
    read the intermediate from the arena, where the producer then writes it as well.

    An f32 intermediate is passed in 64-bit packets if no two vCTAs read the same value, as with the
    partitions of split-KV attention, and if it has at most 2^18 elements. If threads cannot load
    the operands of a task separately, the regions of several operands are received as one region.

    A task receives packets until its temporaries take three quarters of the target's
    `shared_memory`. It waits for further operands and reads them from the arena.

    ```mlir
    %x = memref.alloc() : memref<1x2048xbf16>
    ark.task "a" ... outs(%x[...]) {
      linalg.generic ... outs(%tile : memref<1x16xbf16, ...>) { ... linalg.yield %v : bf16 }
    }
    ark.task "b" ... ins(%x[all of it], ...) {
      ...
    }
    ```
    becomes
    ```mlir
    %packets = ark.packets : memref<8192xi8>
    %x = memref.view %packets[%c0][] : memref<8192xi8> to memref<1x2048xi32>
    ark.task "a" ... outs(%x[...]) {
      %epoch = ark.epoch : i32
      %tag = arith.shli %epoch, %c16 : i32
      linalg.generic ... outs(%tile : memref<1x16xi32, ...>) {
        %word = arith.ori %bits, %tag : i32
        linalg.yield %word : i32
      }
    }
    ark.task "b" ... ins(%x[all of it], ...) {
      %values = memref.alloc() : memref<1x2048xbf16>
      ark.receive_packets %tile to %values : memref<1x2048xi32, ...> to memref<1x2048xbf16>
      ...
    }
    ```

    The pass applies to targets whose kernels poll packets, and to intermediates whose readers all
    have one rank. In a program of several ranks, each rank has a part of `ark.packets`, and the
    words lie in the part of the readers' rank, which may be on another GPU than the writer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "16384",
           "Maximum number of elements of an intermediate in packets; for f32, half of it limits "
           "the elements that a vCTA receives; 0 disables packets">,
  ];
  let statistics = [
    Statistic<"numHandOvers", "hand-overs", "Intermediates passed as LL packets">,
  ];
}

def PlaceTemporariesPass : Pass<"ark-place-temporaries", "::mlir::ark::TaskOp"> {
  let summary = "Place the temporaries of tasks on the stack of the vCTA";
  let description = [{
    Every `memref.alloc` in the body of a task becomes a `memref.alloca` at the head of the body.
    Temporaries of one type share an alloca if their live ranges are disjoint, or if an elementwise
    op is the last reader of one and the first writer of the other. `shared_memory` of the task
    grows by the sum of their bytes.

    ```mlir
    ark.task "t" ... {
      scf.for ... {
        %t = memref.alloc() : memref<16x32xf32>
        ...
      }
    }
    ```
    becomes
    ```mlir
    ark.task "t" ... attributes {shared_memory = 2048} {
      %t = memref.alloca() : memref<16x32xf32>
      scf.for ... {
        ...
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numTemporaries", "temporaries", "Temporaries of all tasks">,
    Statistic<"numShared", "shared", "Temporaries that reuse the bytes of an earlier one">,
  ];
}

//===----------------------------------------------------------------------===//
// Arena
//===----------------------------------------------------------------------===//

def PlanArenaPass : Pass<"ark-plan-arena", "::mlir::ark::ProgramOp"> {
  let summary = "Assign every intermediate an offset in one arena";
  let description = [{
    Two intermediates share bytes only if, in the partial order of data dependences, every task that
    accesses one precedes every task that accesses the other. Sharing hence adds no order between
    tasks. The pass places intermediates greedily into the best-fitting gap, tries several orders,
    and keeps the smallest arena.

    `ark.largest_live_set` records the largest number of bytes of intermediates that are live at the
    same time when tasks run in program order. No plan can use less.

    ```mlir
    %0 = memref.alloc() : memref<64x384xf32>
    ```
    becomes
    ```mlir
    %arena = ark.arena : memref<98304xi8>
    %c0 = arith.constant 0 : index
    %0 = memref.view %arena[%c0][] : memref<98304xi8> to memref<64x384xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numIntermediates", "intermediates", "Buffers in arenas">,
    Statistic<"arenaBytes", "arena-bytes", "Bytes of arenas">,
    Statistic<"largestLiveSet", "largest-live-set", "Bytes live at the same time in program order">,
    Statistic<"sumBytes", "sum-bytes", "Bytes of all intermediates">,
  ];
}

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

def VerifyMemoryPass : Pass<"ark-verify-memory", "::mlir::ark::ProgramOp"> {
  let summary = "Check the output of the memory stage";
  let description = [{
    Changes nothing. Rejects a program on buffers that violates the contract of
    docs/architecture.md:

    - arguments are dense, there are no results, and outputs and constants are marked as such;
    - there is at most one arena, whose intermediates lie inside of it at multiples of 64; two
      intermediates share bytes only if their tasks are ordered;
    - tasks fill intermediates and outputs before other tasks read them;
    - each task fulfils the rules of `ark-verify-tasks`.
  }];
}

def VerifyTasksPass : Pass<"ark-verify-tasks", "::mlir::ark::ProgramOp"> {
  let summary = "Check the tasks on buffers";
  let description = [{
    Changes nothing. The kernel stage begins with this pass, since a module may enter the compiler
    after the memory stage. The pass rejects a task that violates one of these rules:

    - every operand resolves to a part of an argument or of an intermediate, and no task writes to
      inputs, parameters, scalars or constants;
    - bodies work on buffers; temporaries are static, dense, in the entry block, and counted in
      `shared_memory`;
    - a body has ops of a closed list. The ops that may have buffers as operands are structured
      ops, `memref.load` and `store`, `vector.load` and `store`, vector transfers,
      `ark.receive_packets`, and the views `memref.subview`, `reinterpret_cast`, `cast`,
      `expand_shape`, `collapse_shape` and `transpose`. Other ops have no effects. The only loops
      are `scf.for` and structured ops;
    - a loop ends: its step is proven to be positive, and the addition after the last iteration to fit
      into 64 bits;
    - every access is proven to lie inside of a tile or of a temporary, and every view to name
      elements of its source. The proof is by linear inequalities over grid indices, induction
      variables, extents of tiles, branches on comparisons of indices, and results of
      `ark.check_index`. The result of an index op is exact only if it is proven to fit into 64
      bits;
    - no body writes to a tile of an input, or accesses a byte both through an out and through
      another operand;
    - structured ops fill a temporary, or the read part of it, before the body reads it; the same
      holds for an out that the task does not update;
    - at the end of the body, structured ops have filled all outs that the task does not update;
    - no two iterations of the parallel loops of a structured op write the same element, and no
      iteration reads an element that another one writes;
    - the divisor of an integer division is proven to be neither zero nor, if the numbers are
      signed, -1;
    - the tasks together write every byte of the outputs of the program.
  }];
}

#endif // ARK_PASSES_MEMORY_PASSES_TD
