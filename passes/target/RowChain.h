//===- RowChain.h - Ops that follow each other on a row ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWCHAIN_H
#define ARK_PASSES_TARGET_ROWCHAIN_H

#include "passes/target/LoopChain.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Where an op of a chain has an element of an operand from: a scalar, memory
/// that no op of the chain writes, or an earlier op of it.
struct ChainOperand {
  enum { Scalar, Memory, Earlier } source = Scalar;
  /// The scalar or the buffer.
  Value value;
  AffineMap map;
  /// The op, and how many columns behind the reader's it is asked for.
  unsigned earlier = 0;
  int64_t shift = 0;
};

/// An op of a chain.
struct ChainOp {
  linalg::GenericOp op;
  /// Of a row, to a number of it.
  std::optional<Reduction> reduction;
  SmallVector<int64_t> rowShape;
  /// Of what is read and made, or reduced; none: of numbers of rows alone.
  std::optional<int64_t> columns;
  /// One for every block argument, as far as that is used.
  SmallVector<std::optional<ChainOperand>> operands;
  /// Whether others read what it writes.
  bool isStored = true;

  bool makesNumber() const { return reduction || !columns; }
};

/// Ops on rows that need nothing of other rows: what makes a norm, say, and
/// what is done with it. They follow each other in a block, with ops between
/// them that have nothing to do with them.
class RowChain {
public:
  ArrayRef<int64_t> getRowShape() const { return ops.back().rowShape; }
  int64_t getNumRows() const {
    return ShapedType::getNumElements(getRowShape());
  }
  /// The longest row.
  int64_t getNumColumns() const;
  ArrayRef<ChainOp> getOps() const { return ops; }
  /// Where the values of operands come from that are no op of the chain, but
  /// the same number everywhere: the ops that fill them.
  ArrayRef<linalg::LinalgOp> getFills() const { return fills; }

private:
  friend class RowChainFinder;

  std::vector<ChainOp> ops;
  SmallVector<linalg::LinalgOp> fills;
};

/// The chains of a block in which something is reduced and wanted again on the
/// row, and which do not make up all of it.
std::vector<RowChain> findRowChains(Block &block);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWCHAIN_H
