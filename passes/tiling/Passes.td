//===- Passes.td - Passes of the tiling stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_PASSES_TD
#define ARK_PASSES_TILING_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectTilesPass : Pass<"ark-select-tiles", "::mlir::ark::ProgramOp"> {
  let summary = "Select the tile that one vCTA of a group computes";
  let description = [{
    Sets `tile` on every group that has none, from the module's `ark.target`. The tile of the user's
    plan takes precedence: `plan = {tile = [...]}`. If the list is shorter than the rank, it applies
    to the last dimensions of the result.

    A tile is a part of the result; reduced dimensions are never tiled. A tile need not divide the
    result: the last tiles are then smaller.

    - matmul: on cpu, panels of both operands fit into the caches; on GPUs, a tile is a square of 64
      or 128. If the target lists tiles for its matrix units, a matmul of 16-bit floats gets the
      listed tile with the earliest predicted end, among those that divide the result and occupy
      (nearly) all SMs. With few rows, reading weights dominates. On GPUs, tiles then have few
      enough columns for the shares of the SMs to differ by at most 2 %, if possible; on cpu, each
      core gets one tile of columns.
    - attention: one head and up to 64 query rows, or all query heads of a key head if they have few
      rows. On GPUs, the scores have to fit into an SM's memory, and the scores of several heads may
      take an eighth of it: with a long cache, each head has its own SM.
    - partial (split-KV) attention: one partition, and all heads of a key head as long as the scores
      fit.
    - row ops: whole rows, `row-bytes` of them.
    - in all cases, `tiles-per-sm` tiles per SM if there is enough work; on GPUs, one.
    - norms with at most as many rows as an SM has warps, if only matmuls that need all rows read
      them: all rows (GPUs), so that the matmuls can repeat the norm.
    - rotations of queries and keys and updates of a cache that only attention reads: tiled like
      attention, so that their vCTAs correspond. With partitions of a cache, the tile of an update
      of one row is as long as a partition in the dimension of the rows: `[1, 1, 64, 64]` for 64
      rows of 1024.
    - if fewer tiles than SMs result, any dimension, including leading ones, is divided further
      while the cost model predicts an earlier end of the task.

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

def LowerCustomPass : Pass<"ark-lower-custom", "::mlir::ark::ProgramOp"> {
  let summary = "Turn groups of a custom op into tasks";
  let description = [{
    The task has the grid, the regions and the body of the `ark.custom`; the warps come from the
    group's plan, or else from the target. A tensor on which the group depends without reading it
    becomes an input with its whole extent as region. A copy to the tile of the task's out ends the
    body, as in groups that are being tiled.

    The task stays as it is in `ark-select-tiles`. `ark-decompose` and `ark-fuse-elementwise` treat its
    body as that of a group, and `ark-tile-groups` completes it.

    ```mlir
    %0 = ark.group "twice" (%a = %x) : (tensor<32xf32>) -> tensor<32xf32> {
      %1 = ark.custom grid [2] ins(%a[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
          out <(d0) -> (d0 * 16), [16]> {
      ^bb0(%i: index, %b: tensor<16xf32>, %c: tensor<16xf32>):
        %2 = ark.add %b, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
        ark.yield %2 : tensor<16xf32>
      } : tensor<32xf32>
      ark.yield %1 : tensor<32xf32>
    }
    ```
    becomes
    ```mlir
    %e = tensor.empty() : tensor<32xf32>
    %0 = ark.task "twice" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        outs(%e[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        attributes {ops = ["custom"]} {
    ^bb0(%i: index, %b: tensor<16xf32>, %c: tensor<16xf32>):
      %1 = ark.add %b, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      %2 = linalg.copy ins(%1 : tensor<16xf32>) outs(%c : tensor<16xf32>) -> tensor<16xf32>
      ark.yield %2 : tensor<16xf32>
    } : tensor<32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numTasks", "tasks", "Tasks created">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DecomposePass : Pass<"ark-decompose", "::mlir::ark::ProgramOp"> {
  let summary = "Lower the ark ops inside of groups to structured ops";
  let description = [{
    Bodies become `linalg`, `tensor`, `arith` and `math` ops on whole tensors, which the next passes
    fuse and tile. `ark.attention` and `ark.partial_attention` become `ark.online_attention` and ops
    that normalise or join its results. `ark.top_threshold` stays, because its loops are written for a
    single row, and so does an `ark.gather` of the matrices that a matmul multiplies by, because a tile
    has one of them.

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
    of a softmax over a vocabulary, is recomputed by each reader instead.

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

def TileGroupsPass : Pass<"ark-tile-groups", "::mlir::ark::ProgramOp"> {
  let summary = "Tile groups into tasks: a grid of vCTAs and the body of one vCTA";
  let description = [{
    Tiles the yielded value and fuses all producers into the tile through `TilingInterface`. The
    parts of the group's operands that a tile reads become the task's regions. An operand with any
    other reader than slices at affine offsets has its whole extent as region. The result is written
    to the tiles of `outs`; intermediates of the result's type use the same memory, so that most
    bodies need no temporaries.

    An update writes its state in place. If the tile is longer than the row that the update writes,
    the state is split into `P` interleaved partitions of every `P`-th row. The task sees the state with
    an additional dimension `P`, and a vCTA writes the row if the row belongs to its partition.

    `ark.top_threshold`, whose tile is one row, becomes two loops around a reduction of the row. The
    loops determine the threshold bit by bit.

    A gather that chooses the matrices of a matmul becomes a slice of its table at an offset that the
    body reads from the indices and checks. The tile has one matrix. The region of the table covers
    all matrices, and the rows of the tile's columns.

    ```mlir
    %0 = ark.group "act" (%a = %x) attributes {ops = ["relu"], tile = array<i64: 16>}
        : (tensor<32xf32>) -> tensor<32xf32> {
      %1 = linalg.generic ins(%a : tensor<32xf32>) ...
      ark.yield %1 : tensor<32xf32>
    }
    ```
    becomes
    ```mlir
    %e = tensor.empty() : tensor<32xf32>
    %0 = ark.task "act" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        outs(%e[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        attributes {ops = ["relu"]} {
    ^bb0(%i: index, %a: tensor<16xf32>, %o: tensor<16xf32>):
      %1 = linalg.generic ins(%a : tensor<16xf32>) outs(%o : tensor<16xf32>) ...
      ark.yield %1 : tensor<16xf32>
    } : tensor<32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numTasks", "tasks", "Tasks created">,
    Statistic<"numVCTAs", "vctas", "vCTAs of all tasks">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

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

    The cost model then decides. Repeated work takes no longer than the hand-off that it saves, not
    counting the first execution on every SM (on a GPU, the work of a single vCTA is done once for
    all vCTAs of a work item). Tasks that could run concurrently stay separate unless they occupy
    all SMs or are small. Results that stay inside of a vCTA may take an eighth of an SM's memory.
    Tasks with different plans are not fused, nor are tasks whose fusion would change the version of
    a state that one of them reads. A contraction that depends on a contraction begins a new task:
    otherwise a chain of layers would be one task, and the code would grow with the number of
    layers.

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
    Option<"maxTiles", "max-tiles", "int64_t", "kMostJoinedTiles",
           "Maximum number of tiles that a joined op reads and writes">,
  ];
  let statistics = [
    Statistic<"numJoined", "joined-ops", "Ops joined with another op">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def VerifyTilingPass : Pass<"ark-verify-tiling", "::mlir::ark::ProgramOp"> {
  let summary = "Check that a program is what the memory stage accepts";
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
