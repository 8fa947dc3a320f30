//===- Passes.td - Passes that send packets ----------------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_PACKETS_PASSES_TD
#define ARK_PASSES_MEMORY_PACKETS_PASSES_TD

include "mlir/Pass/PassBase.td"

def HandOffPacketsPass : Pass<"ark-hand-off-packets", "::mlir::ark::ProgramOp"> {
  let summary = "Pass small activations between tasks as LL packets";
  let description = [{
    Passes small intermediates of 16-bit floats as LL packets: words with a value and the epoch.
    The producing task writes packets. Tasks whose vCTAs read rows (whole rows, or half of a head)
    receive the packets into a temporary. All other tasks read the intermediate from the arena,
    where the producer then writes it as well.

    A thread loads four packets at once, or two or one if the rows of the vCTAs have another
    length, distance or begin: `per_load` of `ark.receive_packets`. A vCTA receives a region with at
    most `max-elements` / 4 loads.

    An f32 intermediate is passed in 64-bit packets if no two vCTAs read the same value, as with the
    partitions of split-KV attention, and if it has at most 2^18 elements. A thread then loads two
    packets, or one. If threads load more packets at once from the bounding box of a task's operands
    than from each operand, the task receives this box.

    An operand of a product whose tile the target lists for matrix units does not become packets:
    the matrix units copy it from its buffer to stages of shared memory.

    A task receives packets until its temporaries take three quarters of the target's
    `shared_memory`. The task waits for further operands and reads them from the arena.

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
    Statistic<"numHandOffs", "hand-offs", "Intermediates passed as LL packets">,
  ];
}

#endif // ARK_PASSES_MEMORY_PACKETS_PASSES_TD
