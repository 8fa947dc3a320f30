//===- PositionMask.h - Causal masks of scores ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H
#define ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::ark {

/// The last op of an attention's region, if it admits the keys up to a limit
/// that grows with one row index: a causal mask.
///
///     %admits = arith.cmpi sle, %key + %a, %row + %b
///     %score = arith.select %admits, %unmasked, %minus_infinity
class PositionMask {
public:
  static std::optional<PositionMask> find(OnlineAttentionOp op);

  /// Returns the op that applies the mask.
  arith::SelectOp getSelect() const { return select; }
  /// Creates the number of keys that all rows admit, which may be negative.
  Value createCommonKeys(OpBuilder &builder, Location loc) const;

private:
  arith::SelectOp select;
  /// The numbers that are added to the key and to the row index.
  SmallVector<Value> besideKey, besideRow;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_POSITIONMASK_H
