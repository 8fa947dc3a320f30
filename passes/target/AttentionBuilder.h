//===- AttentionBuilder.h - What both loops of attention use ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTIONBUILDER_H
#define ARK_PASSES_TARGET_ATTENTIONBUILDER_H

#include "passes/target/AttentionLoops.h"

namespace mlir::ark {

/// What the warps leave for the loop that puts it together, in shared memory:
/// by warp and row, and by depth.
struct AttentionBuffers {
  Value maxima, sums, products;
};

/// What is known of a row, and of one of its columns.
using RowNumbers = llvm::SmallDenseMap<RowValue, Value, 4>;

/// Scalars, regions and what lanes exchange.
class AttentionBuilder {
public:
  AttentionBuilder(ImplicitLocOpBuilder &builder, const AttentionOps &attention,
                   const AttentionShape &shape, const AttentionBuffers &buffers)
      : builder(builder), attention(attention), shape(shape), buffers(buffers) {
  }

protected:
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value isLess(Value a, Value b);

  Value exchange(Value value, int64_t distance);
  /// Of the lane of this number.
  Value fetch(Value value, Value lane);
  /// Of all lanes at such distances, in the same order for each of them.
  template <typename OpTy>
  Value combine(Value value, ArrayRef<int64_t> distances);
  /// The indices of a row.
  SmallVector<Value> getPlace(Value row);
  /// The body of an op, whose loops are at `indices`.
  Value inlineBody(linalg::LinalgOp op, ValueRange values, ValueRange indices);
  /// An element of an operand.
  Value load(linalg::LinalgOp op, OpOperand &operand, ValueRange indices);
  Value getFinite(Value maximum);
  /// exp(score - finite)
  Value getPower(Value finite, Value score);
  /// A number as if it could be another one than before: what is computed from
  /// it, compilers compute after this place.
  Value pinToPlace(Value number);
  /// What each of the ops behind makes of a column of a row.
  SmallVector<Value> buildRowOps(const RowNumbers &numbers, ValueRange place,
                                 Value column);
  /// Columns that an op behind has.
  int64_t getRowColumns(const RowOp &rowOp);
  void storeRowOp(const RowOp &rowOp, Value result, ValueRange place,
                  Value column);

  ImplicitLocOpBuilder &builder;
  const AttentionOps &attention;
  const AttentionShape &shape;
  AttentionBuffers buffers;
  Value warp, lane;
};

/// The loop over the keys, for few rows.
void buildAttentionStreams(ImplicitLocOpBuilder &builder,
                           const AttentionOps &attention,
                           const AttentionShape &shape,
                           const AttentionBuffers &buffers, Value thread);

/// The same for blocks of 16 rows. What one warp has all of, it finishes.
void buildAttentionBlocks(ImplicitLocOpBuilder &builder,
                          const AttentionOps &attention,
                          const AttentionShape &shape,
                          const AttentionBuffers &buffers, Value thread);

/// The loop that puts together what warps have, and does the ops behind.
void buildAttentionRows(ImplicitLocOpBuilder &builder,
                        const AttentionOps &attention,
                        const AttentionShape &shape,
                        const AttentionBuffers &buffers, Value thread);

template <typename OpTy>
Value AttentionBuilder::combine(Value value, ArrayRef<int64_t> distances) {
  for (int64_t distance : distances)
    value = OpTy::create(builder, value, exchange(value, distance));
  return value;
}

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTIONBUILDER_H
