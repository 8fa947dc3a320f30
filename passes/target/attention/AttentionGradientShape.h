//===- AttentionGradientShape.h - Division of a gradient --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTSHAPE_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTSHAPE_H

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The division of a gradient of an attention among the warps of a CTA. The
/// rows are divided into blocks with the rows of an instruction. The others are
/// keys if the rows are queries, and queries if the rows are keys. The warps of
/// a block divide the others among themselves, and add up their sums.
struct AttentionGradientShape {
  /// Returns nothing if fragments, types, extents or alignments do not fit, or
  /// if there are more blocks than warps.
  static std::optional<AttentionGradientShape>
  choose(BlockedAttentionGradientOp op, MmaAttr mma, int64_t threads);

  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  /// Returns the rows of a block.
  int64_t getBlockRows() const { return mma.getM(); }
  /// Returns the number of others that a warp processes per step.
  int64_t getStepOthers() const { return mma.getK(); }
  /// Returns true if some threads have no row.
  bool hasSurplusRows() const {
    return isClipped || warps / warpsPerBlock * getBlockRows() != rows;
  }

  MmaAttr mma;
  int64_t warps = 0, warpsPerBlock = 0;
  /// The number of rows, or its upper bound if the number is dynamic.
  int64_t rows = 0;
  bool isClipped = false;
  int64_t depth = 0;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTSHAPE_H
