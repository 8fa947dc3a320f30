//===- TargetSpec.h - Known machines ----------------------------*- C++ -*-===//

#ifndef ARK_LIB_TARGET_TARGETSPEC_H
#define ARK_LIB_TARGET_TARGETSPEC_H

#include "dialects/ark/ArkAttrs.h"

#include <utility>

namespace mlir::ark {

/// The description that a target's short name stands for:
///
///   cpu, cpu:<workers>     worker threads; one per core of this machine
///   cuda:<arch>            sm_80, sm_86, sm_89, sm_90a, sm_100a
///   hip:<arch>             gfx90a, gfx942, gfx950
///   #ark.target<...>       a description in full
///
/// Fails with a diagnostic at `loc`.
FailureOr<TargetAttr> parseTargetSpec(StringRef spec, Location loc);

/// Tiles of a product whose factors a machine's matrix units read from shared
/// memory: those of 16 bits, whose rows lie along the depth.
struct MatrixTiles {
  /// Rows and columns of the result.
  ArrayRef<std::pair<int64_t, int64_t>> shapes;
  /// Elements of the depth that they want at once, in a stage.
  int64_t depth;
  /// What a tile takes, in ns: its start and end, and for each stage what the
  /// L2 needs for a row or column of its factors.
  double tileNs, stageRowNs;
};

/// The tiles that a machine's matrix units want; null where they read factors
/// in pieces, so that any tile will do.
const MatrixTiles *findMatrixTiles(TargetAttr target);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_TARGETSPEC_H
