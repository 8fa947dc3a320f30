//===- Passes.td - Passes that place buffers ---------------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_PLACEMENT_PASSES_TD
#define ARK_PASSES_MEMORY_PLACEMENT_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceTemporariesPass : Pass<"ark-place-temporaries", "::mlir::ark::TaskOp"> {
  let summary = "Place the temporaries of tasks on the stack of the vCTA";
  let description = [{
    Every `memref.alloc` in the body of a task becomes a `memref.alloca` at the head of the body.
    Temporaries of one type share an alloca if their live ranges are disjoint, or if an elementwise
    op or a norm is the last reader of one and the first writer of the other. `shared_memory` of the task
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

def ElideConcatsPass : Pass<"ark-elide-concats", "::mlir::ark::ProgramOp"> {
  let summary = "Write slices of a concatenation to its result";
  let description = [{
    A task that only copies whole intermediates to disjoint slices of another intermediate
    disappears. The writers of the slices, which may be other ranks, write to the result, and all
    readers read it. The slices have to be contiguous in the result and aligned to 64 bytes, and no
    task may update them in place.

    ```mlir
    %a = memref.alloc() : memref<64xf32>
    %b = memref.alloc() : memref<64xf32>
    %all = memref.alloc() : memref<2x64xf32>
    ark.task "concat" ... ins(%a[...], %b[...]) outs(%all[...])
    ```
    becomes
    ```mlir
    %all = memref.alloc() : memref<2x64xf32>
    %a = memref.reinterpret_cast %all to offset: [0], sizes: [64], strides: [1]
    %b = memref.reinterpret_cast %all to offset: [64], sizes: [64], strides: [1]
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numConcats", "concats", "Tasks that disappeared">,
  ];
}

def OrderForMemoryPass : Pass<"ark-order-for-memory", "::mlir::ark::ProgramOp"> {
  let summary = "Order tasks so that their intermediates fit into an arena of limited size";
  let description = [{
    The pass keeps the order of the program if the arena of each rank has at most `limit` bytes. Else
    it tries several orders that keep all dependences. It takes the order with the smallest live set,
    if the arena of this order is smaller than that of the program's order. In each order, one of the
    tasks that may run next is chosen: the first one of the program that adds no bytes, or the one that
    adds the fewest bytes. Both rules are also applied from the last task to the first one, which delays a task until
    another task needs its results.

    In this example, `%b` is not needed before the last task:

    ```mlir
    ark.task "a" ... outs(%a)
    ark.task "b" ... outs(%b)
    ark.task "sum" ... ins(%a) outs(%y)
    ark.task "add" ... ins(%y, %b) outs(%z)
    ```
    becomes
    ```mlir
    ark.task "a" ... outs(%a)
    ark.task "sum" ... ins(%a) outs(%y)
    ark.task "b" ... outs(%b)
    ark.task "add" ... ins(%y, %b) outs(%z)
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"0",
           "Bytes of the arena of each rank; 0 means no limit">,
  ];
  let statistics = [
    Statistic<"numOrdered", "ordered", "Programs whose tasks have another order">,
    Statistic<"savedBytes", "saved-bytes", "Bytes by which arenas become smaller">,
  ];
}

def PlanArenaPass : Pass<"ark-plan-arena", "::mlir::ark::ProgramOp"> {
  let summary = "Assign every intermediate an offset in one arena";
  let description = [{
    Two intermediates share bytes only if, in the partial order of data dependences, every task that
    accesses one precedes every task that accesses the other. Sharing hence adds no order between
    tasks. The pass places intermediates greedily into the best-fitting gap, tries several orders,
    and keeps the smallest arena.

    `ark.largest_live_set` records the largest number of bytes of intermediates that are live at the
    same time when tasks run in program order. No plan can use less.

    If the arena of each rank exceeds `limit` bytes, intermediates may also share bytes if program
    order has their tasks one after the other, on one rank. Later stages derive the order of these
    tasks from the shared bytes. Such intermediates share bytes only if the predicted time of the
    tasks between their uses is long; the pass chooses the longest time that keeps the limit, since
    order between tasks that are far apart rarely costs time. `ark.memory_limit` records the limit.
    If no plan keeps it, the error names the largest intermediates that are live at the same time.

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
  let options = [
    Option<"limit", "limit", "int64_t", /*default=*/"0",
           "Bytes of the arena of each rank; 0 means no limit">,
  ];
  let statistics = [
    Statistic<"numIntermediates", "intermediates", "Buffers in arenas">,
    Statistic<"arenaBytes", "arena-bytes", "Bytes of arenas">,
    Statistic<"largestLiveSet", "largest-live-set", "Bytes live at the same time in program order">,
    Statistic<"sumBytes", "sum-bytes", "Bytes of all intermediates">,
  ];
}

#endif // ARK_PASSES_MEMORY_PLACEMENT_PASSES_TD
