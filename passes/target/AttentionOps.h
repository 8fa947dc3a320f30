//===- AttentionOps.h - The ops of an attention in a body -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTIONOPS_H
#define ARK_PASSES_TARGET_ATTENTIONOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// What an attention computes for a row of queries. `Finite` is the maximum, or
/// zero where no key counts; `Sum` is that of the powers.
enum class RowValue { Maximum, Finite, Sum, Product };

/// Where an operand of an op behind an attention has its elements from.
struct RowOperand {
  enum { Memory, Number, Earlier } source = Memory;
  RowValue value = RowValue::Maximum;
  /// Among the ops behind.
  unsigned earlier = 0;
};

/// An elementwise op on rows or on the results of an attention.
struct RowOp {
  linalg::LinalgOp op;
  /// Inputs, then the output.
  SmallVector<RowOperand> operands;
  /// Whether somebody else reads what it writes.
  bool isStored = true;
};

/// A few rows of queries with all keys: scores, their softmax and the sum of
/// values, as a body has it. The ops follow each other, and no others touch
/// memory between them.
class AttentionOps {
public:
  /// Nothing, unless an attention begins with `first`.
  static std::optional<AttentionOps> match(linalg::LinalgOp first);

  int64_t getNumRows() const { return ShapedType::getNumElements(rowShape); }
  Type getElementType() const { return getElementTypeOrSelf(key); }
  /// All of them, in their order.
  ArrayRef<linalg::LinalgOp> getOps() const { return ops; }

  /// Rows by any number of dimensions and the depth; keys and values by their
  /// number and the depth.
  Value query, key, value;
  SmallVector<int64_t> rowShape;
  int64_t depth = 0;
  /// Done to scores in their place.
  SmallVector<linalg::LinalgOp> scoreOps;
  /// finite = f(maximum), power = f(finite, score).
  linalg::LinalgOp finiteOp, powerOp;
  SmallVector<RowOp> rowOps;

private:
  enum class State { Zero, Least, Scores, Powers, Row };
  struct Content {
    State state;
    RowOperand row;
  };

  bool add(linalg::LinalgOp op);
  bool addFill(linalg::LinalgOp op);
  bool addScores(linalg::LinalgOp op);
  bool addScoreOp(linalg::LinalgOp op);
  bool addPowers(linalg::LinalgOp op);
  bool addReduction(linalg::LinalgOp op);
  bool addFinite(linalg::LinalgOp op);
  bool addProduct(linalg::LinalgOp op);
  bool addRowOp(linalg::LinalgOp op);
  bool isComplete() const { return productOp && powerOp && finiteOp; }
  bool hasPrivateBuffers();

  const Content *getContent(Value buffer) const;
  bool isFilled(Value buffer, State state) const;
  bool holds(Value buffer, RowValue value) const;
  bool isMade(Value buffer) const;
  bool isRowMap(AffineMap map) const;
  bool isRowSpace(linalg::LinalgOp op, bool withKeys) const;
  void setRow(Value buffer, RowValue value);

  SmallVector<linalg::LinalgOp> ops;
  linalg::LinalgOp scoresOp, productOp;
  Value scores;
  llvm::DenseMap<Value, Content> contents;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTIONOPS_H
