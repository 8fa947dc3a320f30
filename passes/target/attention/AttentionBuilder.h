//===- AttentionBuilder.h - Base class of the attention loops ---*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONBUILDER_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONBUILDER_H

#include "passes/target/attention/AttentionLoops.h"

namespace mlir::ark {

/// Partial results in shared memory, which the loop over the keys writes and
/// the combining loop reads. If several warps share the keys of a row, each
/// warp has its own entries: a maximum and a sum of exponentials per row, and a
/// weighted sum of values per row and element of the depth.
struct AttentionBuffers {
  Value maxima, sums, products;
  /// Stages of keys and values, or null. A stage has the rows of its keys, and
  /// then those of its values.
  Value stages = {};
};

/// The results of a row for one column: the maximum, the sum, and one element
/// of the product.
using RowValues = llvm::SmallDenseMap<RowValue, Value, 4>;

/// Builds scalars, bodies of ops and exchanges between threads.
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
  /// Returns `value` of thread `inWarp` of the warp.
  Value fetch(Value value, Value inWarp);
  /// Combines `value` over the threads at these XOR distances. The order of the
  /// operations is the same in every thread.
  template <typename OpTy>
  Value combine(Value value, ArrayRef<int64_t> distances);
  /// Returns the indices of a row.
  SmallVector<Value> getRowIndices(Value row);
  /// Clones the body of an op with its loops at `indices`. Returns its result.
  Value inlineBody(linalg::LinalgOp op, ValueRange values, ValueRange indices);
  /// Loads the element of an operand that `map` selects at `indices`, or
  /// returns a scalar operand.
  Value load(Value operand, AffineMap map, ValueRange indices);
  /// Returns the maximum that is subtracted from scores, which is finite.
  Value getFinite(Value maximum);
  /// Returns exp(score - finite).
  Value getExponential(Value finite, Value score);
  /// Makes an index opaque to compilers, so that values that depend on the
  /// result are computed after this point.
  Value makeOpaque(Value number);
  /// Builds all row ops for a column of a row. Returns their results.
  SmallVector<Value> buildRowOps(const RowValues &values, ValueRange rowIndices,
                                 Value column);
  /// Returns the number of columns of a row op.
  int64_t getRowColumns(const RowOp &rowOp);
  void storeRowOp(const RowOp &rowOp, Value result, ValueRange rowIndices,
                  Value column);

  ImplicitLocOpBuilder &builder;
  const AttentionOps &attention;
  const AttentionShape &shape;
  AttentionBuffers buffers;
  Value warp, inWarp;
};

/// Builds the loop over the keys for few rows.
void buildAttentionStreams(ImplicitLocOpBuilder &builder,
                           const AttentionOps &attention,
                           const AttentionShape &shape,
                           const AttentionBuffers &buffers, Value thread);

/// Builds the loop over the keys for blocks of rows. A warp that has all
/// keys of a row also computes the row ops.
void buildAttentionBlocks(ImplicitLocOpBuilder &builder,
                          const AttentionOps &attention,
                          const AttentionShape &shape,
                          const AttentionBuffers &buffers, Value thread);

/// Builds the loop over the keys for blocks whose queries are columns of the
/// instruction. A warp that has all keys of a row also computes the row ops.
void buildAttentionColumns(ImplicitLocOpBuilder &builder,
                           const AttentionOps &attention,
                           const AttentionShape &shape,
                           const AttentionBuffers &buffers, Value thread);

/// Builds the loop over the keys for blocks of warpgroups, and the row ops.
/// `memory` is a temporary of the shape's bytes.
void buildAttentionWarpgroups(ImplicitLocOpBuilder &builder,
                              const AttentionOps &attention,
                              const AttentionShape &shape, Value memory,
                              Value thread);

/// Builds the loop that combines the partial results of the warps and computes
/// the row ops.
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

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONBUILDER_H
