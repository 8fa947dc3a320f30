//===- Passes.td - Passes that select tiles ----------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_PASSES_TD
#define ARK_PASSES_TILING_SELECTION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectTilesPass : Pass<"ark-select-tiles", "::mlir::ark::ProgramOp"> {
  let summary = "Select the tile that one vCTA of a group computes";
  let description = [{
    Sets `tile` on every group without a tile, from the module's `ark.target`. The tile of the
    user's plan takes precedence: `plan = {tile = [...]}`. If the list is shorter than the rank, it
    applies to the last dimensions of the result.

    A tile is a part of the result; reduced dimensions are never tiled. A tile need not divide the
    result: the last tiles are then smaller.

    - matmul: on cpu, panels of both operands fit into the caches; on GPUs, a tile is a square of 64
      or 128. If the target lists tiles for its matrix units, a matmul of 16-bit floats gets the
      listed tile with the earliest predicted end, among those that divide the result. With few
      rows, reading weights dominates. On GPUs, tiles then have a number of columns for which the
      largest share of an SM exceeds the mean by at most 2 %, or 4 to 6 % with matrix units, if
      possible; on cpu, each core gets one tile of columns.
    - products with the same left operand that do not depend on each other: a common listed tile,
      if all of them end earlier at once than one after the other.
    - attention: one head and up to 64 query rows, or all query heads of a key head if they have few
      rows. With matrix units, a tile has up to 128 rows, or as many rows as the warpgroups of a CTA
      compute at once, if such tiles occupy (nearly) all SMs. Matrix units that store no scores
      compute no clipped tiles: tiles then have the next smaller number of rows that divides the
      queries, down to a quarter, or the next larger one, up to 256. Without such a number, scores
      are stored. On GPUs, stored scores have to fit into an SM's memory, and the scores of several
      heads may take an eighth of it: with a long cache, each head has a separate SM.
    - partial (split-KV) attention: one partition, and all heads of a key head as long as the scores
      fit. More than 128 query rows whose scores are not stored get tiles of one head and up to 64
      rows.
    - row ops: whole rows, with `row-bytes` bytes of input and output.
    - chains of elementwise ops and of reductions of their rows (GPUs), such as the derivative of a
      softmax: the rows of the smallest of their tiles, if no tile would shrink to less than a
      quarter, so that the tasks can be fused. The same holds for the gradient of a norm's operand
      and the statistics of the same rows.
    - in all cases, `tiles-per-sm` tiles per SM if there is enough work; on GPUs, one.
    - norms with at most as many rows as an SM has warps, if only matmuls that need all rows read
      them: all rows (GPUs), so that the matmuls can repeat the norm.
    - rotations of queries and keys and updates of a cache that only attention reads: tiled like
      attention, so that their vCTAs correspond. With partitions of a cache, the tile of an update
      of one row is as long as a partition in the dimension of the rows: `[1, 1, 64, 64]` for 64
      rows of 1024.
    - if fewer tiles than SMs result, any dimension, including leading ones, is divided further
      while the cost model predicts an earlier end of the task. Attention without stored scores is
      only divided into tiles that divide the queries.

    ```mlir
    %0 = ark.group "fc1" (...) : (...) -> tensor<64x1536xf32> { ... }
    ```
    becomes
    ```mlir
    %0 = ark.group "fc1" (...) attributes {tile = array<i64: 64, 128>} : (...) -> tensor<64x1536xf32> { ... }
    ```
  }];
  let options = [
    Option<"rowBytes", "row-bytes", "int64_t", "32768",
           "Bytes of input and output of one tile of a row op">,
    Option<"tilesPerSM", "tiles-per-sm", "int64_t", "4",
           "Tiles per SM, if there is enough work">,
    Option<"matmulM", "matmul-m", "int64_t", "0", "Rows of a matmul tile; 0 selects by target">,
    Option<"matmulN", "matmul-n", "int64_t", "0", "Columns of a matmul tile; 0 selects by target">,
    Option<"attentionRows", "attention-rows", "int64_t", "64", "Query rows of an attention tile">,
  ];
  let statistics = [
    Statistic<"numPlanned", "planned-tiles", "Groups whose tile comes from the user's plan">,
    Statistic<"numSelected", "selected-tiles", "Groups whose tile was chosen">,
  ];
}

#endif // ARK_PASSES_TILING_SELECTION_PASSES_TD
