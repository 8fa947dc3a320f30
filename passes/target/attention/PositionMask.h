//===- PositionMask.h - Causal masks of scores ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H
#define ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::ark {

/// The last op of the region of an attention or of its gradient, if it admits
/// the keys up to a limit that grows with one row index: a causal mask.
///
///     %admits = arith.cmpi sle, %key + %a, %row + %b
///     %score = arith.select %admits, %unmasked, %minus_infinity
class PositionMask {
public:
  /// A term of a sum.
  struct Term {
    Value value;
    bool isNegative;
  };

  static std::optional<PositionMask> find(OnlineAttentionOp op);
  /// Finds the mask in the region that yields `score`. The arguments `key` and
  /// `rows` of the region are the indices of the key and of the row.
  static std::optional<PositionMask> find(Value score, Value key,
                                          ValueRange rows);

  /// Returns the op that applies the mask.
  arith::SelectOp getSelect() const { return select; }
  /// Creates the number of keys that all rows admit, which may be negative.
  Value createCommonKeys(OpBuilder &builder, Location loc) const;
  /// Creates the first row that admits all keys up to `lastKey`. The number may
  /// be negative.
  Value createFirstCommonRow(OpBuilder &builder, Location loc,
                             int64_t lastKey) const;

private:
  arith::SelectOp select;
  /// The numbers that are added to the key and to the row index.
  SmallVector<Term> besideKey, besideRow;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H
