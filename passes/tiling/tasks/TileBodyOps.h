//===- TileBodyOps.h - Tiles of the ops of bodies ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TASKS_TILEBODYOPS_H
#define ARK_PASSES_TILING_TASKS_TILEBODYOPS_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Interfaces/TilingInterface.h"

namespace mlir {
class DialectRegistry;
class RewriterBase;
} // namespace mlir

namespace mlir::ark {

/// Attaches TilingInterface to `ark.online_attention`.
void registerAttentionTiling(DialectRegistry &registry);

/// Attaches TilingInterface to `ark.row_norm`.
void registerRowNormTiling(DialectRegistry &registry);

/// Attaches TilingInterface to `ark.blocked_attention_gradient`.
void registerAttentionGradientTiling(DialectRegistry &registry);

/// Adds the offsets of a tile to `indices`, arguments of a region of a tiled
/// op.
void offsetIndices(OpBuilder &builder, Operation *op, ValueRange indices,
                   ArrayRef<OpFoldResult> offsets);

/// Returns the ranges of the loops of `op`, with the extents of the dimensions
/// of `operands` that the loops index. These operands index every loop.
SmallVector<Range> getLoopDomain(OpBuilder &builder, BodyOpInterface op,
                                 ArrayRef<OpOperand *> operands);

/// Appends the offsets and sizes of the tile of a result, of which each
/// dimension is a loop.
void getResultPosition(BodyOpInterface op, unsigned resultNumber,
                       ArrayRef<OpFoldResult> offsets,
                       ArrayRef<OpFoldResult> sizes,
                       SmallVector<OpFoldResult> &resultOffsets,
                       SmallVector<OpFoldResult> &resultSizes);

/// Returns the columns of a tile of whole rows, which have `numColumns`. Only
/// the last offset and the last size may not be those of the rows.
Value sliceColumns(OpBuilder &builder, Value rows, int64_t numColumns,
                   ArrayRef<OpFoldResult> offsets,
                   ArrayRef<OpFoldResult> sizes);

/// Returns how many of `keys` the `size` queries from `offset` on may attend
/// to, of `queries` in all: query `q` attends to the keys up to `q + keys -
/// queries`.
OpFoldResult limitCausalKeys(OpBuilder &builder, Location loc,
                             OpFoldResult offset, OpFoldResult size,
                             OpFoldResult keys, int64_t queries);

/// Creates an op with the slices of the operands that a tile of the loops
/// needs. The regions are cloned.
TilingResult tileBodyOp(OpBuilder &builder, BodyOpInterface op,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes);

/// Drops row loops of extent one. Operands and results lose the dimensions of
/// extent one that these loops, or a constant, index.
void dropRowLoops(RewriterBase &rewriter, BodyOpInterface op,
                  ArrayRef<int64_t> loops);

/// Lets insertions into other tensors copy the results of an op, so that the
/// results stay temporaries.
void copyInsertedResults(RewriterBase &rewriter, BodyOpInterface op);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_TILEBODYOPS_H
