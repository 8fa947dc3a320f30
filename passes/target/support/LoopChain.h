//===- LoopChain.h - Structured ops fused into one loop ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_LOOPCHAIN_H
#define ARK_PASSES_TARGET_SUPPORT_LOOPCHAIN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {

/// The op that combines values in a linalg op with one result.
struct Reduction {
  Operation *combiner;
  /// The value that is combined with the accumulator.
  Value value;
  TypedAttr neutral;

  /// Returns nothing if threads cannot share the reduction of `op`.
  static std::optional<Reduction> match(linalg::LinalgOp op);
};

/// A dimension of a buffer.
struct BufferExtent {
  Value buffer;
  int64_t dim;
};

/// Returns the operand dimensions that equal the extent of a loop of `op`.
/// Possibly only one of them has a constant bound.
SmallVector<BufferExtent> getExtents(linalg::LinalgOp op, unsigned loop);

/// Consecutive ops on buffers with equal parallel dimensions. An op reads only
/// elements that an earlier op writes in the same iteration. One parallel loop
/// can execute all ops of the chain and pass values in registers.
class LoopChain {
public:
  /// Appends `op` if the same loop can execute it. Returns true if `op` was
  /// added.
  bool add(linalg::LinalgOp op);

  bool empty() const { return ops.empty(); }
  ArrayRef<linalg::LinalgOp> getOps() const { return ops; }

  /// Returns true if no op outside of the chain reads the values that the chain
  /// writes to `buffer`.
  bool isPrivate(Value buffer) const;

private:
  bool hasSameSpace(linalg::LinalgOp op) const;
  bool isIndependentOrOwn(linalg::LinalgOp op) const;

  SmallVector<linalg::LinalgOp> ops;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_LOOPCHAIN_H
