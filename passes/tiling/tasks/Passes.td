//===- Passes.td - Passes that make tasks ------------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_TASKS_PASSES_TD
#define ARK_PASSES_TILING_TASKS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // ARK_PASSES_TILING_TASKS_PASSES_TD
