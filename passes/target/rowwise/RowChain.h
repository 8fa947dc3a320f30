//===- RowChain.h - Chains of ops on rows -----------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWCHAIN_H
#define ARK_PASSES_TARGET_ROWWISE_ROWCHAIN_H

#include "passes/target/support/LoopChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// The source of an operand: a scalar, memory that the chain does not write, or
/// an earlier op of the chain.
struct ChainOperand {
  enum { Scalar, Memory, Earlier } source = Scalar;
  /// The scalar or the buffer.
  Value value;
  AffineMap map;
  /// The index of the earlier op, and the distance from the reader's column to
  /// the column that it reads.
  unsigned earlier = 0;
  int64_t shift = 0;
};

/// An op of a chain.
struct ChainOp {
  linalg::GenericOp op;
  /// The reduction of a row to a scalar, if the op is a reduction.
  std::optional<Reduction> reduction;
  SmallVector<int64_t> rowShape;
  /// Number of columns that the op computes or reduces; nothing if the op
  /// computes row scalars and reads only row scalars.
  std::optional<int64_t> columns;
  /// One entry per block argument; nothing for an unused argument.
  SmallVector<std::optional<ChainOperand>> operands;
  /// True if ops outside of the chain read the output.
  bool isStored = true;

  bool makesRowScalar() const { return reduction || !columns; }
};

/// Ops that read only elements of the row that they compute, such as the ops of
/// a norm and the ops that use its result. The ops follow each other in a
/// block; independent ops may lie between them.
class RowChain {
public:
  ArrayRef<int64_t> getRowShape() const { return ops.back().rowShape; }
  int64_t getNumRows() const {
    return ShapedType::getNumElements(getRowShape());
  }
  /// Returns the number of columns of the longest row.
  int64_t getNumColumns() const;
  ArrayRef<ChainOp> getOps() const { return ops; }
  /// Returns the fills of temporaries that only the chain reads. The chain
  /// reads the scalar of a fill instead of the temporary.
  ArrayRef<linalg::LinalgOp> getFills() const { return fills; }

private:
  friend class RowChainFinder;

  std::vector<ChainOp> ops;
  SmallVector<linalg::LinalgOp> fills;
};

/// Returns the chains of a block in which an op uses a scalar that is reduced
/// from its row. Returns no chains if they would contain all ops of the block.
std::vector<RowChain> findRowChains(Block &block);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWCHAIN_H
