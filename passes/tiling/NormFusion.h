//===- NormFusion.h - Elementwise neighbours of norms -----------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_NORMFUSION_H
#define ARK_PASSES_TILING_NORMFUSION_H

#include "dialects/ark/ArkOps.h"

#include <functional>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::ark {

/// Decides if the producer of an operand becomes part of the operand's owner.
using FusionFn = std::function<bool(OpOperand *)>;

/// Adds patterns that make elementwise ops part of an `ark.row_norm`: producers
/// of inputs, of which the regions compute the elements, and the reader of the
/// result, which becomes part of the epilogue.
void populateNormFusionPatterns(RewritePatternSet &patterns,
                                const FusionFn &shouldFuse);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_NORMFUSION_H
