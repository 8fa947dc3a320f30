//===- TensorMaps.h - Operands that are copied by TMA -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TENSOR_MAPS_TENSORMAPS_H
#define ARK_PASSES_TARGET_TENSOR_MAPS_TENSORMAPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// The kernel function that returns the address of a tensor map, given task and
/// index.
inline constexpr llvm::StringLiteral kTensorMapFunction = "ark_tensor_map";

/// The tensor map of an operand of a body: a matrix of 16-bit elements with a
/// row stride of `stride` elements. One copy transfers a box of `boxRows` rows
/// of 128 bytes.
struct TensorMap {
  int64_t operand;
  int64_t columns, rows, stride;
  int64_t boxRows;

  /// Returns the map of the operand of which `tile` is a subview. Returns
  /// nothing if the operand is not one matrix with the row stride of the tile.
  static std::optional<TensorMap> match(Value tile, int64_t boxRows);

  bool operator==(const TensorMap &other) const;
};

/// Returns the maps that a body uses.
SmallVector<TensorMap> getTensorMaps(func::FuncOp body);
/// Adds a map unless the body already has it. Returns the index of the map.
int64_t addTensorMap(func::FuncOp body, const TensorMap &map);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TENSOR_MAPS_TENSORMAPS_H
