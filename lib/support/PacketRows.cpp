//===- PacketRows.cpp - Layout of received packets ------------------------===//

#include "lib/support/PacketRows.h"

using namespace mlir;
using namespace mlir::ark;

Type mlir::ark::getPacketType(Type value) {
  if (value.isBF16() || value.isF16() || value.isF32())
    return IntegerType::get(value.getContext(),
                            2 * value.getIntOrFloatBitWidth());
  return nullptr;
}

int64_t PacketRows::getMaxPerLoad(Type element) {
  bool isWide = element.isF32() || element.isInteger(64);
  return isWide ? kWidePacketsPerLoad : kPacketsPerLoad;
}

std::optional<PacketRows> PacketRows::match(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  PacketRows rows{/*count=*/1, /*size=*/1, /*stride=*/0,
                  getMaxPerLoad(type.getElementType())};
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = type.getDimSize(dim);
    if (extent == 1)
      continue;
    bool continuesRow = rows.count == 1 && strides[dim] == rows.size;
    bool continuesRows =
        rows.count > 1 && strides[dim] == rows.count * rows.stride;
    if (continuesRow) {
      rows.size *= extent;
    } else if (rows.count == 1 || continuesRows) {
      rows.stride = rows.count == 1 ? strides[dim] : rows.stride;
      rows.count *= extent;
    } else {
      return std::nullopt;
    }
  }
  if (ShapedType::isDynamic(rows.stride))
    return std::nullopt;
  while (rows.size % rows.perLoad != 0 || rows.stride % rows.perLoad != 0)
    rows.perLoad /= 2;
  return rows;
}
