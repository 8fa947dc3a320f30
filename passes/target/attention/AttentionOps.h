//===- AttentionOps.h - An attention and the ops on its rows ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// The results of an attention for a row of queries.
enum class RowValue { Maximum, Sum, Product };

/// The source of an operand of a row op.
struct RowOperand {
  enum { Memory, Result, Earlier } source = Memory;
  RowValue value = RowValue::Maximum;
  /// The index of the earlier row op.
  unsigned earlier = 0;
};

/// An elementwise op after an attention, on its results or on results of
/// earlier row ops.
struct RowOp {
  linalg::LinalgOp op;
  /// One entry per input, then one for the output.
  SmallVector<RowOperand> operands;
  /// True if ops outside of the attention read the output.
  bool isStored = true;
};

/// An `ark.online_attention` whose rows share all keys, and the row ops that
/// directly follow it.
class AttentionOps {
public:
  /// Returns nothing if the rows of `op` have different keys, or if an extent
  /// other than the number of keys is dynamic.
  static std::optional<AttentionOps> get(OnlineAttentionOp op);

  int64_t getNumRows() const { return ShapedType::getNumElements(rowShape); }
  Type getElementType() const { return getElementTypeOrSelf(key); }
  /// Returns the attention and the row ops in program order.
  SmallVector<Operation *> getOps() const;
  bool contains(Operation *other) const;
  /// Returns the results that row ops do not overwrite and that other ops may
  /// read.
  SmallVector<OpOperand *> getExposedResults() const;

  mutable OnlineAttentionOp op;
  /// The query has any number of row dimensions, then the depth. Key and value
  /// have the dimensions number of keys and depth.
  Value query, key, value;
  SmallVector<int64_t> rowShape;
  int64_t depth = 0;
  SmallVector<RowOp> rowOps;

private:
  void addRowOps();
  bool addRowOp(linalg::LinalgOp rowOp);
  bool hasRowLoops(linalg::LinalgOp rowOp) const;
  bool isRowMap(AffineMap map) const;
  bool readsSameIteration(linalg::LinalgOp rowOp, OpOperand &operand) const;
  bool mayWrite(Value out, ArrayRef<Value> opReads) const;

  /// The results that temporaries hold: those of the attention, and those of
  /// row ops.
  llvm::DenseMap<Value, RowOperand> contents;
  /// The memory that the attention and row ops read.
  SmallVector<Value> reads;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONOPS_H
