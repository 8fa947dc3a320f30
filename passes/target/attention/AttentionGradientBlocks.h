//===- AttentionGradientBlocks.h - Gradients on matrix units ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTBLOCKS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTBLOCKS_H

#include "passes/target/attention/AttentionGradientShape.h"

namespace mlir::ark {

/// Builds the loops over the others for each thread of the CTA, at the
/// insertion point.
void buildAttentionGradientBlocks(ImplicitLocOpBuilder &builder,
                                  BlockedAttentionGradientOp op,
                                  const AttentionGradientShape &shape);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONGRADIENTBLOCKS_H
