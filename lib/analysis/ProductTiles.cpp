//===- ProductTiles.cpp - Tiles of matmuls for matrix units ---------------===//

#include "lib/analysis/ProductTiles.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// 1/kIdleShare of the SMs may be idle in a matmul: tiles of half the size
/// would use all SMs, but read both operands twice.
static constexpr int64_t kIdleShare = 16;

int64_t mlir::ark::getLeastTiles(TargetAttr target) {
  return target.getSms() - target.getSms() / kIdleShare;
}

int64_t mlir::ark::getLeastWholeTiles(TargetAttr target, bool canWarpsRead) {
  return canWarpsRead ? getLeastTiles(target) : 1;
}

static MatrixTilesAttr getListedTiles(TargetAttr target) {
  return target.isGpu() ? target.getGpu().getMatrixTiles() : MatrixTilesAttr();
}

int64_t mlir::ark::getStageDepth(TargetAttr target) {
  MatrixTilesAttr listed = getListedTiles(target);
  return listed ? listed.getDepth() : 0;
}

static int64_t countTiles(const ProductSizes &sizes, int64_t rows,
                          int64_t columns) {
  return sizes.batches * divideCeil(sizes.rows, rows) *
         divideCeil(sizes.columns, columns);
}

double mlir::ark::predictTilesNs(TargetAttr target, const ProductSizes &sizes,
                                 int64_t rows, int64_t columns) {
  constexpr double kPsPerNs = 1000;
  MatrixTilesAttr listed = getListedTiles(target);
  int64_t stages = divideCeil(sizes.depth, listed.getDepth());
  int64_t products = stages * countPartProducts(sizes.parts);
  double ns = listed.getTile() +
              products * (rows + columns) * listed.getStageRow() / kPsPerNs;
  return divideCeil(countTiles(sizes, rows, columns), target.getSms()) * ns;
}

/// Returns true unless the elements are split, and the stages of a tile exceed
/// the shared memory, or the threads cannot load its rows evenly.
static bool canSplit(TargetAttr target, const ProductSizes &sizes, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kPartBytes = 2;
  int64_t bytes = kSplitStages * sizes.parts * (rows + columns) *
                  getStageDepth(target) * kPartBytes;
  return sizes.parts == 1 ||
         (rows % kSplitUnit == 0 && columns % kSplitUnit == 0 &&
          bytes <= target.getSharedMemory());
}

std::optional<ProductTile> mlir::ark::findListedTile(TargetAttr target,
                                                     const ProductSizes &sizes,
                                                     int64_t columnUnit,
                                                     int64_t leastTiles) {
  MatrixTilesAttr listed = getListedTiles(target);
  if (!listed || sizes.depth % listed.getDepth() != 0)
    return std::nullopt;
  std::optional<ProductTile> best;
  for (auto [rows, columns] : listed.getTiles()) {
    if (sizes.rows % rows != 0 || sizes.columns % columns != 0 ||
        columns % columnUnit != 0 || !canSplit(target, sizes, rows, columns) ||
        countTiles(sizes, rows, columns) < leastTiles)
      continue;
    double ns = predictTilesNs(target, sizes, rows, columns);
    if (!best || ns < best->ns)
      best = {rows, columns, ns};
  }
  return best;
}

void mlir::ark::halveTile(int64_t &rows, int64_t &columns, int64_t leastRows,
                          int64_t leastColumns,
                          llvm::function_ref<bool()> isEnough) {
  constexpr int64_t kUnit = 8;
  while (!isEnough() && (columns > leastColumns || rows > leastRows)) {
    bool cutsColumns =
        columns > leastColumns && (columns >= 2 * rows || rows <= leastRows);
    int64_t &side = cutsColumns ? columns : rows;
    side = std::max<int64_t>(llvm::alignTo(side / 2, kUnit),
                             cutsColumns ? leastColumns : leastRows);
  }
}
