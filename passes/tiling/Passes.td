//===- Passes.td - Passes of the tiling stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_PASSES_TD
#define ARK_PASSES_TILING_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectTilesPass : Pass<"ark-select-tiles", "::mlir::ark::ProgramOp"> {
  let summary = "Chooses the tile that one vCTA of a group computes";
  let description = [{
    Sets `tile` on every group that has none, from the module's `ark.target`. The
    tile of the user's plan wins: `plan = {tile = [...]}`, for the last
    dimensions of the result if it is shorter than the rank.

    A tile is a part of the result; what is reduced is never cut. It need not
    divide the result, whose last tiles are smaller then.

    - matmul: panels of both sides fit into the caches (cpu) or the tile is a
      square of 64 or 128 (GPUs). Where the machine lists tiles that its matrix units want, for 16-bit floats it is
      the one with which all SMs have ended first, of those that divide the result and give work to all SMs. With few rows, where the time goes into
      reading weights, columns are cut so finely that the SMs get shares that
      differ by no more than 2 %, as far as their number permits (GPUs); a
      core gets one tile of them (cpu).
    - attention: one head and up to 64 query rows; all heads of a key head
      together, where these are few rows. On GPUs the scores fit into an
      SM's memory, and those of several heads take no more than an eighth of it:
      the heads of a long cache go to SMs of their own.
    - attention in pieces: one piece, and all heads of a key head as long as the scores fit.
    - row ops: whole rows, `row-bytes` of them.
    - in any case `tiles-per-sm` tiles for every SM where the work permits; on GPUs, one.
    - norms of no more rows than an SM has warps, which products alone read that need all
      of them: all rows (GPUs), so that the products can repeat them.
    - the rotation of queries and keys and the update of a cache, where attention
      alone reads them: as attention is cut, so that vCTAs of the two go together. Where
      attention has pieces of a cache, so does the update of one row: in the dimension of
      the rows its tile is as long as a piece, `[1, 1, 64, 64]` for 64 rows of 1024.
    - where that leaves fewer tiles than SMs, any dimension is cut further, leading
      ones too, as long as the cost model expects the task to end earlier.

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
           "Tiles for every SM, where the work permits">,
    Option<"matmulM", "matmul-m", "int64_t", "0", "Rows of a matmul tile; 0: by the target">,
    Option<"matmulN", "matmul-n", "int64_t", "0", "Columns of a matmul tile; 0: by the target">,
    Option<"attentionRows", "attention-rows", "int64_t", "64", "Query rows of an attention tile">,
  ];
  let statistics = [
    Statistic<"numPlanned", "planned-tiles", "Groups whose tile comes from the user's plan">,
    Statistic<"numSelected", "selected-tiles", "Groups whose tile was chosen">,
  ];
}

def DecomposePass : Pass<"ark-decompose", "::mlir::ark::ProgramOp"> {
  let summary = "Lowers the ark ops inside of groups to structured ops";
  let description = [{
    Bodies become `linalg`, `tensor`, `arith` and `math` on whole tensors, which
    the next passes fuse and tile. `ark.top_threshold` stays: its loops are written for a row.

    Inside of a body, 16-bit and 8-bit floats are f32 and unsigned integers are
    signless: values are converted where they enter and where they leave, so
    a chain of ops rounds once, at its end. A matmul reads 16-bit operands as
    they are and accumulates in f32.

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
  let summary = "Joins elementwise structured ops inside of groups";
  let description = [{
    So that a tile is traversed few times. A producer joins its consumer when
    nothing is computed twice by that: it has one reader, or only converts
    types. Contractions stay on their own; their operands only take
    conversions in. On a GPU, each reader computes for itself what would take more
    than half of an SM's memory, as rows of a softmax over a vocabulary do.

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
  let summary = "Cuts groups into tasks: a grid of vCTAs and the body of one";
  let description = [{
    Tiles what the group yields and fuses all producers into the tile through
    `TilingInterface`. Parts of the group's operands that a tile reads become
    the task's regions; operands that are read elsewhere than by slices at
    affine offsets have their whole range as region. What is written goes to
    the tiles of `outs`: intermediates of the type of the result live in
    there too, so that most bodies need no memory of their own.

    An update writes its state in place. Where its tile is longer than the row that it
    writes, the state is cut into pieces of every `P`-th row: the task sees it with `P` as a
    dimension, and a vCTA writes the row if its piece has it.

    `ark.top_threshold`, of which a tile is one row, becomes two loops around a reduction of the row:
    bit by bit, they find the threshold.

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
    Statistic<"numTasks", "tasks", "Tasks made">,
    Statistic<"numVCTAs", "vctas", "vCTAs of all tasks">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

def FuseTasksPass : Pass<"ark-fuse-tasks", "::mlir::ark::ProgramOp"> {
  let summary = "Joins tasks whose vCTAs need nothing of each other but of their partner";
  let description = [{
    A task less is a hand-off less: what a vCTA reads of its partner never leaves
    it. Two tasks become one where

    - their grids are equal, and every vCTA of the second reads of the first no more than
      what the vCTA of the same number makes: gate and up of a gated MLP, norms of heads and
      their rotation, which reads halves of rows, updates of a cache and attention, which
      reads them;
    - their grids are equal, and they read the same part of a tensor but nothing of
      each other, as the projections to queries, keys and values do;
    - the first has one vCTA, whose result all vCTAs of the second read: each
      computes it for itself. This is how a norm becomes a prologue;
    - the grid of the second begins with that of the first, and every vCTA reads what the
      one with its first indices makes: the rotation of queries, for all pieces of the keys.

    The cost model has the last word. Work that is repeated takes no longer than the
    hand-off that it saves, beyond the first time on every SM (on a GPU that of an only vCTA
    is done once for all vCTAs of a run); tasks that could run side
    by side stay apart, unless they fill all SMs or are small; results that now stay
    inside take at most an eighth of an SM's memory. A task with another plan is
    left alone, and so is everything where a state would be read in another version.
    A contraction over what a contraction made begins a task of its own: else a chain of
    layers would be one task, and code would grow with their number.

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
           "Structured ops of one body, at most: what compiles a function takes more than "
           "twice as long for twice as many">,
  ];
  let statistics = [
    Statistic<"numFused", "fused-tasks", "Tasks that became part of another one">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def VerifyTilingPass : Pass<"ark-verify-tiling", "::mlir::ark::ProgramOp"> {
  let summary = "Checks that a program is what the memory stage accepts";
  let description = [{
    - (tiling_c1) the program holds tasks, views, constants, `ark.noop`, `tensor.empty` and
      `ark.return` only.
    - (tiling_c2) an out is a `tensor.empty` of its own or, where the task updates it,
      a state.
    - (tiling_c3) every result of the program is a result of its own of a task, and
      no state.
    - (tiling_c4) bodies hold `linalg`, `tensor`, `arith`, `math`, `affine.apply`,
      `affine.min`, `scf.for`, `ark.check_index` and `ark.epoch` only, on tensors.
    - (tiling_c5) no task reads a state after the task that updates it.

    Changes nothing.
  }];
}

#endif // ARK_PASSES_TILING_PASSES_TD
