//===- AttentionOps.h - Ops of an attention in a body -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Values that an attention computes for a row of queries. `Finite` is the
/// maximum, or zero if no key counts. `Sum` is the sum of the exponentials.
enum class RowValue { Maximum, Finite, Sum, Product };

/// The source of an operand of a row op.
struct RowOperand {
  enum { Memory, Number, Earlier } source = Memory;
  RowValue value = RowValue::Maximum;
  /// The number of the earlier row op.
  unsigned earlier = 0;
};

/// An elementwise op on rows or on the results of an attention, which follows
/// the attention.
struct RowOp {
  linalg::LinalgOp op;
  /// One for each input, then one for the output.
  SmallVector<RowOperand> operands;
  /// True if ops outside of the attention read the output.
  bool isStored = true;
};

/// The ops of an attention in a body: scores of a few rows of queries and all
/// keys, their softmax and the weighted sum of values. The ops follow each
/// other, and no other ops between them touch memory.
class AttentionOps {
public:
  /// Returns nothing unless an attention begins with `first`.
  static std::optional<AttentionOps> match(linalg::LinalgOp first);

  int64_t getNumRows() const { return ShapedType::getNumElements(rowShape); }
  Type getElementType() const { return getElementTypeOrSelf(key); }
  /// Returns all ops, in their order.
  ArrayRef<linalg::LinalgOp> getOps() const { return ops; }

  /// The query has any number of row dimensions and the depth. Key and value
  /// have the number of keys and the depth.
  Value query, key, value;
  SmallVector<int64_t> rowShape;
  int64_t depth = 0;
  /// Elementwise ops that update the scores in place.
  SmallVector<linalg::LinalgOp> scoreOps;
  /// `finiteOp` computes finite = f(maximum), `powerOp` power = f(finite,
  /// score).
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

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H
