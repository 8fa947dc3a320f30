//===- AttentionOps.h - Ops of an attention in a body -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Values that an attention computes for a row of queries. `Finite` is the
/// maximum, or zero if all scores are minus infinity. `Sum` is the sum of the
/// exponentials.
enum class RowValue { Maximum, Finite, Sum, Product };

/// The source of an operand of a row op.
struct RowOperand {
  enum { Memory, Number, Earlier } source = Memory;
  RowValue value = RowValue::Maximum;
  /// The index of the earlier row op.
  unsigned earlier = 0;
};

/// An elementwise op after an attention, on rows or on results of the
/// attention.
struct RowOp {
  linalg::LinalgOp op;
  /// One entry per input, then one for the output.
  SmallVector<RowOperand> operands;
  /// True if ops outside of the attention read the output.
  bool isStored = true;
};

/// The ops of an attention in a body: scores of a few query rows and all keys,
/// the softmax of the scores and the weighted sum of values. The ops are
/// consecutive, except for ops that do not access memory.
class AttentionOps {
public:
  /// Returns nothing unless an attention begins with `first`.
  static std::optional<AttentionOps> match(linalg::LinalgOp first);

  int64_t getNumRows() const { return ShapedType::getNumElements(rowShape); }
  Type getElementType() const { return getElementTypeOrSelf(key); }
  /// Returns all ops in program order.
  ArrayRef<linalg::LinalgOp> getOps() const { return ops; }

  /// The query has any number of row dimensions, then the depth. Key and value
  /// have the dimensions number of keys and depth.
  Value query, key, value;
  SmallVector<int64_t> rowShape;
  int64_t depth = 0;
  /// Elementwise ops that update the scores in place.
  SmallVector<linalg::LinalgOp> scoreOps;
  /// `finiteOp` computes finite = f(maximum); `exponentialOp` computes
  /// exponential = f(finite, score).
  linalg::LinalgOp finiteOp, exponentialOp;
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
  bool addExponentials(linalg::LinalgOp op);
  bool addReduction(linalg::LinalgOp op);
  bool addFinite(linalg::LinalgOp op);
  bool addProduct(linalg::LinalgOp op);
  bool addRowOp(linalg::LinalgOp op);
  bool isComplete() const { return productOp && exponentialOp && finiteOp; }
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
