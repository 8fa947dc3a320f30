//===- Passes.td - Checks of tasks on buffers --------------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_PASSES_TD
#define ARK_PASSES_MEMORY_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // ARK_PASSES_MEMORY_VERIFY_PASSES_TD
