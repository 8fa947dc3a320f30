//===- TensorMaps.cpp - Operands that are copied by TMA -------------------===//

#include "passes/target/tensor_maps/TensorMaps.h"

#include "passes/kernel/KernelAbi.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::ark;

// Limits of the hardware.
static constexpr int64_t kMaxBoxRows = 256;
static constexpr int64_t kMaxRows = int64_t(1) << 32;
static constexpr int64_t kStrideUnit = 16;
static constexpr int64_t kMaxStride = int64_t(1) << 40;

/// Returns the operand of a body of which a tile is a subview, or null for
/// tiles with other views: a view that joins dimensions has rows that cross
/// rows of the matrix.
static BlockArgument getOperand(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (auto view = dyn_cast<memref::SubViewOp>(op))
      tile = view.getSource();
    else if (auto cast = dyn_cast<memref::CastOp>(op))
      tile = cast.getSource();
    else
      return {};
  }
  auto operand = cast<BlockArgument>(tile);
  bool isOperand = isa<func::FuncOp>(operand.getOwner()->getParentOp()) &&
                   operand.getArgNumber() >= abi::kBodyOperands;
  return isOperand ? operand : BlockArgument();
}

/// Returns the row stride of a tile whose rows are contiguous.
static std::optional<int64_t> getRowStride(MemRefType tile) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(tile.getStridesAndOffset(strides, offset)) ||
      strides.size() != 2 || strides[1] != 1 ||
      ShapedType::isDynamic(strides[0]) || strides[0] <= 0)
    return std::nullopt;
  return strides[0];
}

std::optional<TensorMap> TensorMap::match(Value tile, int64_t boxRows) {
  BlockArgument operand = getOperand(tile);
  std::optional<int64_t> stride =
      getRowStride(cast<MemRefType>(tile.getType()));
  if (!operand || !stride || boxRows > kMaxBoxRows)
    return std::nullopt;
  auto type = cast<MemRefType>(operand.getType());
  SmallVector<int64_t> strides;
  int64_t offset, bytes = getElementBytes(type.getElementType());
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) || offset != 0 ||
      *stride * bytes % kStrideUnit != 0 || *stride * bytes >= kMaxStride)
    return std::nullopt;
  // Row and column of the last element relative to the first element.
  int64_t column = 0, row = 0;
  for (auto [extent, step] : llvm::zip(type.getShape(), strides)) {
    if (step < 0)
      return std::nullopt;
    if (step % *stride == 0)
      row += (extent - 1) * (step / *stride);
    else
      column += (extent - 1) * step;
  }
  if (column >= *stride || row >= kMaxRows)
    return std::nullopt;
  return TensorMap{operand.getArgNumber() - abi::kBodyOperands, column + 1,
                   row + 1, *stride, boxRows};
}

bool TensorMap::operator==(const TensorMap &other) const {
  return operand == other.operand && columns == other.columns &&
         rows == other.rows && stride == other.stride &&
         boxRows == other.boxRows;
}

SmallVector<TensorMap> ark::getTensorMaps(func::FuncOp body) {
  SmallVector<TensorMap> maps;
  if (auto all = body->getAttrOfType<ArrayAttr>(kTensorMapsAttr))
    for (auto numbers : all.getAsRange<DenseI64ArrayAttr>())
      maps.push_back(
          {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]});
  return maps;
}

int64_t ark::addTensorMap(func::FuncOp body, const TensorMap &map) {
  SmallVector<TensorMap> maps = getTensorMaps(body);
  auto known = llvm::find(maps, map);
  int64_t number = known - maps.begin();
  if (known != maps.end())
    return number;
  maps.push_back(map);
  Builder builder(body.getContext());
  SmallVector<Attribute> all;
  for (const TensorMap &one : maps)
    all.push_back(builder.getDenseI64ArrayAttr(
        {one.operand, one.columns, one.rows, one.stride, one.boxRows}));
  body->setAttr(kTensorMapsAttr, builder.getArrayAttr(all));
  return number;
}
