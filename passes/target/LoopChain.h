//===- LoopChain.h - Structured ops that one loop can do --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_LOOPCHAIN_H
#define ARK_PASSES_TARGET_LOOPCHAIN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {

/// How a linalg op with one result combines values with one op.
struct Reduction {
  Operation *combiner;
  /// What is combined with the accumulator.
  Value value;
  TypedAttr neutral;

  /// Nothing, if threads cannot share what `op` reduces.
  static std::optional<Reduction> match(linalg::LinalgOp op);
};

/// A dimension of a buffer.
struct BufferExtent {
  Value buffer;
  int64_t dim;
};

/// What says how far a loop of `op` runs: dimensions of its operands, all of
/// which are equal, though one may be known better than another.
SmallVector<BufferExtent> getExtents(linalg::LinalgOp op, unsigned loop);

/// Ops on buffers that follow each other, over equal parallel dimensions: what
/// one of them writes, a later one reads in the same iteration. One parallel
/// loop can do them all, and hand values on without memory.
class LoopChain {
public:
  /// Adds `op` at the end, if the loop can do it too.
  bool add(linalg::LinalgOp op);

  bool empty() const { return ops.empty(); }
  ArrayRef<linalg::LinalgOp> getOps() const { return ops; }

  /// Whether nobody else reads what the chain writes to `buffer`.
  bool isPrivate(Value buffer) const;

private:
  bool hasSameSpace(linalg::LinalgOp op) const;
  bool isIndependentOrOwn(linalg::LinalgOp op) const;

  SmallVector<linalg::LinalgOp> ops;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_LOOPCHAIN_H
