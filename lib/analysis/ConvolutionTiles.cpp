//===- ConvolutionTiles.cpp - Tiles of convolutions -----------------------===//

#include "lib/analysis/ConvolutionTiles.h"

#include "lib/analysis/ProductTiles.h"
#include "lib/support/Streaming.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

ConvolutionSizes mlir::ark::getConvolutionSizes(ConvolutionOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  ArrayRef<int64_t> window =
      cast<RankedTensorType>(op.getFilters().getType()).getShape().take_back(3);
  int64_t rank = shape.size();
  return {ShapedType::getNumElements(shape.drop_back(3)), shape[rank - 3],
          shape[rank - 2], shape[rank - 1], ShapedType::getNumElements(window)};
}

/// Returns the panels of a stage, or 0 if matrix units read no panels.
static int64_t getPanel(TargetAttr target) {
  if (!target.isGpu() || !target.getGpu().getMatrixTiles() ||
      !target.getGpu().findSharedMemoryMma() ||
      !target.hasCopy(CopyKind::CpAsync))
    return 0;
  return target.getGpu().getMatrixTiles().getPanel();
}

std::optional<double> mlir::ark::predictConvolutionTileNs(
    TargetAttr target, const ConvolutionSizes &sizes, int64_t features,
    int64_t rows, int64_t columns) {
  int64_t panel = getPanel(target);
  if (panel == 0)
    return std::nullopt;
  int64_t pitch = llvm::alignTo(columns, kAlignedElements);
  int64_t staged = llvm::alignTo(rows * pitch, panel);
  int64_t down =
      llvm::alignTo(features, target.getGpu().findSharedMemoryMma().getM());
  // Warpgroups, whose number is a power of two, take whole panels.
  if (!llvm::isPowerOf2_64(staged / panel) ||
      !isListedTile(target, down, staged, sizes.depth))
    return std::nullopt;
  ProductSizes product{sizes.batches, sizes.features, staged, sizes.depth};
  product.canWarpsRead = product.isRightAlongDepth = false;
  return predictTileNs(target, product, down, staged);
}

std::optional<ConvolutionTile>
mlir::ark::findConvolutionTile(TargetAttr target,
                               const ConvolutionSizes &sizes) {
  int64_t panel = getPanel(target);
  if (panel == 0 || sizes.features <= kStreamingRows)
    return std::nullopt;
  int64_t unit = target.getGpu().findSharedMemoryMma().getM();
  std::optional<ConvolutionTile> best;
  for (int64_t features : {unit, 2 * unit, 4 * unit})
    for (int64_t rows = 1; rows <= sizes.rows; ++rows) {
      if (sizes.rows % rows != 0 ||
          features > llvm::alignTo(sizes.features, unit))
        continue;
      auto one = predictConvolutionTileNs(target, sizes, features, rows,
                                          sizes.columns);
      if (!one)
        continue;
      int64_t tiles = sizes.batches * divideCeil(sizes.features, features) *
                      (sizes.rows / rows);
      double ns = divideCeil(tiles, target.getSms()) * *one;
      if (!best || ns < best->ns)
        best = {features, rows, ns};
    }
  return best;
}
