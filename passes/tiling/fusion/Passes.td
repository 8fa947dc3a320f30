//===- Passes.td - Passes that fuse tasks ------------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_FUSION_PASSES_TD
#define ARK_PASSES_TILING_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseTasksPass : Pass<"ark-fuse-tasks", "::mlir::ark::ProgramOp"> {
  let summary = "Fuse tasks if every vCTA depends on at most one vCTA of the other task";
  let description = [{
    Each fused task saves a hand-off: values pass from one body to the other inside of a vCTA. Two
    tasks are fused if one of these conditions holds:

    - their grids are equal, and every vCTA of the second task reads only those results of the first
      that the vCTA with the same index computes. Examples: gate and up of a gated MLP; norms of
      heads and their rotation, which reads halves of rows; updates of a cache and the attention
      that reads them;
    - their grids are equal, and they read the same part of a tensor but no values of each other,
      such as the projections to queries, keys and values;
    - the first task has one vCTA, whose result all vCTAs of the second task recompute. A norm
      becomes a prologue in this way;
    - the grid of the second task begins with the grid of the first, and every vCTA reads only the
      values of the vCTA with its leading indices. An example is the rotation of queries, which all
      partitions of the keys read.

    The cost model then decides. A task is fused with the first reader of its results only: every
    other reader depends on the first one, so that the fusion delays no reader. An example is a
    residual sum, which a norm reads at once, and another sum reads later. Repeated work has no other
    reader. It takes no longer than the hand-off that it saves, not counting the first execution on
    every SM (on a GPU, the work of a single vCTA is done once for all vCTAs of a work item). Tasks
    that could run concurrently stay separate unless they occupy all SMs or are small. On a GPU,
    elementwise tasks that share numbers only, such as a learning rate, also stay separate if they
    occupy half of the SMs, or have more tiles than the registers of a thread have room for. Tasks with
    an equal attention, of which one reads nothing but operands of the other, always become one: the
    log-sum-exp of an attention is computed with its result. Results that
    stay inside of a vCTA may take an eighth of an SM's memory. Tasks with different plans are not
    fused, nor are tasks whose fusion would change the version of a state that one of them reads. A
    contraction that depends on a contraction begins a new task: otherwise a chain of layers would be
    one task, and the code would grow with the number of layers.

    ```mlir
    %0 = ark.task "gate" grid [2] ins(%x[whole], %wg[d0 * 64]) outs(%e0[d0 * 64]) ...
    %1 = ark.task "up" grid [2] ins(%x[whole], %wu[d0 * 64], %0[d0 * 64]) outs(%e1[d0 * 64]) ...
    ```
    becomes
    ```mlir
    %1 = ark.task "gate+up" grid [2] ins(%x[whole], %wg[d0 * 64], %wu[d0 * 64]) outs(%e1[d0 * 64]) ...
    ```
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "64",
           "Maximum number of structured ops per body: the time to compile a function more than "
           "doubles with twice the ops">,
  ];
  let statistics = [
    Statistic<"numFused", "fused-tasks", "Tasks fused into another task">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def JoinElementwisePass : Pass<"ark-join-elementwise", "::mlir::ark::ProgramOp"> {
  let summary = "Join elementwise structured ops of a body into ops with several results";
  let description = [{
    Two elementwise ops with equal iterations become one op with the results of both if the second op
    reads a result of the first one element by element, or if both read the same tile. Results that
    no other op reads disappear, so that values stay in registers: a step of an optimizer reads
    gradient, weight and moments once. The pass changes only tasks that update a state, whose
    structured ops are all elementwise, on tiles of static shape.

    ```mlir
    %1 = linalg.generic ins(%m, %g) outs(%empty) { arith.mulf, arith.addf }
    %2 = linalg.copy ins(%1) outs(%moment)
    %3 = linalg.generic ins(%w, %1) outs(%weight) { arith.mulf, arith.subf }
    ```
    becomes
    ```mlir
    %3:2 = linalg.generic ins(%m, %g, %w) outs(%moment, %weight) {
      arith.mulf, arith.addf, arith.mulf, arith.subf
    }
    ```
  }];
  let options = [
    Option<"maxTiles", "max-tiles", "int64_t", "kMaxJoinedTiles",
           "Maximum number of tiles that a joined op reads and writes">,
  ];
  let statistics = [
    Statistic<"numJoined", "joined-ops", "Ops joined with another op">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

#endif // ARK_PASSES_TILING_FUSION_PASSES_TD
