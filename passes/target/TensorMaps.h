//===- TensorMaps.h - Operands that are copied in boxes ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TENSORMAPS_H
#define ARK_PASSES_TARGET_TENSORMAPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// Gives a body the address of a tensor map, by task and number.
inline constexpr llvm::StringLiteral kTensorMapFunction = "ark_tensor_map";

/// What a tensor map says of an operand of a body: a matrix of elements of 16
/// bits, whose rows are `stride` elements apart, and of which `boxRows` rows of
/// 128 bytes are copied at once.
struct TensorMap {
  int64_t operand;
  int64_t columns, rows, stride;
  int64_t boxRows;

  /// Of the operand that `tile`, whole rows of its own, is a part of; nothing
  /// where the rows of that are not those of one matrix.
  static std::optional<TensorMap> match(Value tile, int64_t boxRows);

  bool operator==(const TensorMap &other) const;
};

/// The maps that a body has the addresses of.
SmallVector<TensorMap> getTensorMaps(func::FuncOp body);
/// One more, or one that it has; gives its number.
int64_t addTensorMap(func::FuncOp body, const TensorMap &map);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TENSORMAPS_H
