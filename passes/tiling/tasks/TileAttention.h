//===- TileAttention.h - Tiles of an attention ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TASKS_TILEATTENTION_H
#define ARK_PASSES_TILING_TASKS_TILEATTENTION_H

#include "dialects/ark/ArkOps.h"

namespace mlir {
class DialectRegistry;
class RewriterBase;
} // namespace mlir

namespace mlir::ark {

/// Attaches TilingInterface to `ark.online_attention`.
void registerAttentionTiling(DialectRegistry &registry);

/// Drops row loops of extent one. Operands and results lose the dimensions of
/// extent one that these loops, or a constant, index.
void dropRowLoops(RewriterBase &rewriter, OnlineAttentionOp op,
                  ArrayRef<int64_t> loops);

/// Lets insertions into other tensors copy the results of an attention, so that
/// the results stay temporaries, which code generation need not store.
void copyInsertedResults(RewriterBase &rewriter, OnlineAttentionOp op);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_TILEATTENTION_H
