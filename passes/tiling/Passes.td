//===- Passes.td - Passes of the tiling stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_PASSES_TD
#define ARK_PASSES_TILING_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"ark-decompose", "::mlir::ark::ProgramOp"> {
  let summary = "Lower the ark ops inside of groups to structured ops";
  let description = [{
    Bodies become `linalg`, `tensor`, `arith` and `math` ops on whole tensors, which the next passes
    fuse and tile. `ark.attention`, `ark.attention_log_sum_exp` and `ark.partial_attention` become
    `ark.online_attention` and ops that normalise or join its results. Gradients of an attention become
    `ark.blocked_attention_gradient` and ops that scale or join its results. `ark.layernorm` and
    `ark.rmsnorm` become `ark.row_norm`.
    `ark.top_threshold` stays, because its loops are written for a single row. An `ark.gather` of the
    matrices of a matmul stays, too, because a tile reads only one of these matrices.

    Inside of a body, 16-bit and 8-bit floats become f32, and unsigned integers become signless.
    Values are converted on entry and on exit, so a chain of ops rounds once, at its end. A matmul
    reads 16-bit operands as they are and accumulates in f32.

    ```mlir
    %0 = ark.group "act" (%a = %x) : (tensor<4x8xf16>) -> tensor<4x8xf16> {
      %1 = ark.relu %a : (tensor<4x8xf16>) -> tensor<4x8xf16>
      ark.yield %1 : tensor<4x8xf16>
    }
    ```
    becomes
    ```mlir
    %0 = ark.group "act" (%a = %x) attributes {ops = ["relu"]} : (tensor<4x8xf16>) -> tensor<4x8xf16> {
      %1 = linalg.generic ins(%a : tensor<4x8xf16>) ... { arith.extf } -> tensor<4x8xf32>
      %2 = linalg.generic ins(%1 : tensor<4x8xf32>) ... { arith.maximumf } -> tensor<4x8xf32>
      %3 = linalg.generic ins(%2 : tensor<4x8xf32>) ... { arith.truncf } -> tensor<4x8xf16>
      ark.yield %3 : tensor<4x8xf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def FuseElementwisePass : Pass<"ark-fuse-elementwise", "::mlir::ark::ProgramOp"> {
  let summary = "Fuse elementwise structured ops inside of groups";
  let description = [{
    Fusion reduces the number of passes over a tile. A producer is fused into its consumer if it has
    one reader, or if it only converts types. Only conversions are fused into the operands of a
    contraction. On a GPU, a value that would take more than half of an SM's memory, such as a row
    of a softmax over a vocabulary, is recomputed by each reader instead. The producers and the reader
    of an `ark.row_norm` become part of its regions in the same cases.

    ```mlir
    %1 = linalg.generic ins(%acc, %bias) ... { arith.addf }
    %2 = linalg.generic ins(%1) ... { math.erf ... }
    ```
    becomes
    ```mlir
    %2 = linalg.generic ins(%acc, %bias) ... { arith.addf, math.erf ... }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def OrderMicrobatchesPass : Pass<"ark-order-microbatches", "::mlir::ark::ProgramOp"> {
  let summary = "Order the tasks of a pipeline by 1F1B";
  let description = [{
    A task whose plan has a `microbatch` belongs to a unit of a pipeline: the work on one microbatch in
    one `stage` (by default the `rank`), forward or `backward`. The pass orders the units of each rank,
    and the tasks by their units:

    - A rank with one stage `s` of `S` executes `S - 1 - s` forward units, and then alternates between
      one forward and one backward unit until none is left (1F1B). At most `S - s` microbatches are in
      flight.
    - A rank with several stages interleaves them. Of `R` ranks with `c` stages each, rank `r` has the
      stages `r`, `r + R` and so on, and executes `2 (R - 1 - r) + (c - 1) R` forward units before it
      alternates. `R` microbatches pass one stage of the rank before the next stage; backward, the
      stages descend.

    All dependences hold. If they contradict the order of the units, a unit begins before the unit that
    depends on it ends. A task without a `microbatch` comes as early as it can. A program without
    microbatches does not change. Later stages keep the order of the tasks as the order of the program,
    and the list scheduler does not begin a unit in a lane before the earlier ones end there.

    ```mlir
    // on rank 0 of 2, in the order of the program, with S = 2 =>
    ark.task "f0" ... {plan = {microbatch = 0 : i64, rank = 0 : i64}}                  // first
    ark.task "f1" ... {plan = {microbatch = 1 : i64, rank = 0 : i64}}                  // second
    ark.task "f2" ... {plan = {microbatch = 2 : i64, rank = 0 : i64}}                  // fourth
    ark.task "b0" ... {plan = {backward = true, microbatch = 0 : i64, rank = 0 : i64}} // third
    ```
  }];
  let statistics = [
    Statistic<"numUnits", "units", "Units of all ranks">,
  ];
}

def VerifyTilingPass : Pass<"ark-verify-tiling", "::mlir::ark::ProgramOp"> {
  let summary = "Check that the memory stage accepts the program";
  let description = [{
    - (tiling_c1) the program holds tasks, views, constants, `ark.noop`, `tensor.empty` and
      `ark.return` only.
    - (tiling_c2) an out is a separate `tensor.empty` or, if the task updates it, a state.
    - (tiling_c3) every result of the program is a separate result of a task, and not a state.
    - (tiling_c4) bodies hold `linalg`, `tensor`, `arith`, `math`, `affine.apply`, `affine.min`,
      `scf.for`, `scf.if`, `ark.check_index`, `ark.epoch` and `ark.online_attention` only, on tensors.
    - (tiling_c5) no task reads a state after the task that updates it.

    Changes nothing.
  }];
}

#endif // ARK_PASSES_TILING_PASSES_TD
