//===- TargetSpec.h - Known machines ----------------------------*- C++ -*-===//

#ifndef ARK_LIB_TARGET_TARGETSPEC_H
#define ARK_LIB_TARGET_TARGETSPEC_H

#include "dialects/ark/ArkAttrs.h"

#include <utility>

namespace mlir::ark {

/// Returns the description that a target's short name stands for:
///
///   cpu, cpu:<workers>     worker threads; one per core of this machine
///   cuda:<arch>            sm_80, sm_86, sm_89, sm_90a, sm_100a
///   hip:<arch>             gfx90a, gfx942, gfx950
///   #ark.target<...>       a description in full
///
/// Fails with a diagnostic at `loc`.
FailureOr<TargetAttr> parseTargetSpec(StringRef spec, Location loc);

/// Tiles of a product whose operands A and B the matrix units of a machine read
/// from shared memory. The operands have elements of 16 bits, and their rows
/// lie along the depth (K).
struct MatrixTiles {
  /// Rows and columns of the result's tile.
  ArrayRef<std::pair<int64_t, int64_t>> shapes;
  /// Depth of one stage, in elements.
  int64_t depth;
  /// Time of a tile, in ns: `tileNs` for its start and end, and for each stage
  /// `stageRowNs` of L2 time for every row or column of the operands.
  double tileNs, stageRowNs;
};

/// Returns the tiles for a machine's matrix units. Returns null if the units
/// read operands in pieces, so that any tile will do.
const MatrixTiles *findMatrixTiles(TargetAttr target);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_TARGETSPEC_H
