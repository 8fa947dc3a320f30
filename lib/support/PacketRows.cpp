//===- PacketRows.cpp - How packets lie that are received -----------------===//

#include "lib/support/PacketRows.h"

using namespace mlir;
using namespace mlir::ark;

std::optional<PacketRows> PacketRows::match(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  PacketRows rows{/*count=*/1, /*size=*/1, /*stride=*/0};
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
  bool isWide = rows.size % kPacketsPerLoad == 0 &&
                !ShapedType::isDynamic(rows.stride) &&
                rows.stride % kPacketsPerLoad == 0;
  return isWide ? std::optional(rows) : std::nullopt;
}
