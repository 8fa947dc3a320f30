//===- TensorMaps.h - Operands that are copied by TMA -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_TENSORMAPS_H
#define ARK_PASSES_TARGET_MATMUL_TENSORMAPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// The function of the kernel that returns the address of a tensor map, by task
/// and number.
inline constexpr llvm::StringLiteral kTensorMapFunction = "ark_tensor_map";

/// The tensor map of an operand of a body: a matrix of elements of 16 bits,
/// whose rows are `stride` elements apart, and of which a box of `boxRows` rows
/// of 128 bytes is copied at once.
struct TensorMap {
  int64_t operand;
  int64_t columns, rows, stride;
  int64_t boxRows;

  /// Returns the map of the operand that `tile` is a part of, where `tile` has
  /// whole rows of its own. Returns nothing if the rows of the operand are not
  /// those of one matrix.
  static std::optional<TensorMap> match(Value tile, int64_t boxRows);

  bool operator==(const TensorMap &other) const;
};

/// Returns the maps whose addresses a body uses.
SmallVector<TensorMap> getTensorMaps(func::FuncOp body);
/// Adds a map unless the body already has it. Returns the number of the map.
int64_t addTensorMap(func::FuncOp body, const TensorMap &map);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_TENSORMAPS_H
