//===- SelectGradientTile.cpp - Tiles of gradients of attention -----------===//

#include "passes/tiling/selection/TileSelector.h"

#include "dialects/ark/ArkInference.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Rows of a tile. A tile reads all others (keys, or queries if the rows are
/// keys) once. The tile's products with a block of others have as many rows as
/// columns.
static constexpr int64_t kRows = 64;
/// A row of weights and a row of slopes of a block.
static constexpr int64_t kBlockColumns = 2 * 64;
/// Gradients, weights and slopes are f32 in a body.
static constexpr int64_t kBytes = 4;
/// Part of the shared memory of an SM that these may take.
static constexpr int64_t kMemoryShare = 2;

Tile TileSelector::selectAttentionGradient(AttentionGradientOpInterface,
                                           ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  Tile tile(rank, 1);
  tile[rank - 1] = domain[rank - 1];
  int64_t &rows = tile[rank - 2];
  rows = divideEvenly(domain[rank - 2], kRows, 8);
  int64_t rowBytes = (domain[rank - 1] + kBlockColumns) * kBytes;
  while (!isCPU() && rows > 1 &&
         rows * rowBytes * kMemoryShare > target.getSharedMemory())
    rows = llvm::divideCeil(rows, 2);
  return tile;
}
