//===- ConvolutionTiles.h - Tiles of convolutions ---------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_CONVOLUTIONTILES_H
#define ARK_LIB_ANALYSIS_CONVOLUTIONTILES_H

#include "dialects/ark/ArkConvolutionOps.h"

#include <optional>

namespace mlir::ark {

/// The extents of `batches` convolutions. Each has `features` filters of
/// `depth` elements and a result of `rows` x `columns` elements per filter.
struct ConvolutionSizes {
  int64_t batches, features, rows, columns, depth;
};

/// Returns the sizes of a convolution.
ConvolutionSizes getConvolutionSizes(ConvolutionOp op);

/// A tile of a convolution: all columns of some rows of the result of some
/// filters; and the predicted time of all tiles.
struct ConvolutionTile {
  int64_t features, rows;
  double ns;
};

/// Predicts the time of one tile of `features` filters and `rows` x `columns`
/// windows on one SM. Returns nothing if matrix units cannot multiply the tile:
/// the columns of a row take whole copies of 16 bytes, and the columns of all
/// rows whole panels.
std::optional<double> predictConvolutionTileNs(TargetAttr target,
                                               const ConvolutionSizes &sizes,
                                               int64_t features, int64_t rows,
                                               int64_t columns);

/// Returns the tile with the shortest predicted time, whose rows divide those
/// of the result. Returns nothing if matrix units of the target cannot read
/// windows of images.
std::optional<ConvolutionTile>
findConvolutionTile(TargetAttr target, const ConvolutionSizes &sizes);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_CONVOLUTIONTILES_H
