//===- TileShape.cpp - Which tiles a group can be cut into ----------------===//

#include "passes/tiling/TileShape.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t getBytes(Type element) {
  return divideCeil(element.getIntOrFloatBitWidth(), 8);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Operation *ark::getTileAnchor(GroupOp group) {
  for (Operation &op : group.getBody().front().without_terminator())
    if (isa<AnchorOpInterface, ConcatOp>(op))
      return &op;
  return nullptr;
}

ArrayRef<int64_t> ark::getDomain(GroupOp group, Operation *anchor) {
  if (auto update = dyn_cast_or_null<UpdateOp>(anchor))
    return getTensorType(update.getValue()).getShape();
  return getTensorType(group.getResult(0)).getShape();
}

SmallVector<int64_t> ark::getWholeDims(Operation *anchor, int64_t rank) {
  if (auto softmax = dyn_cast_or_null<SoftmaxOp>(anchor))
    return {static_cast<int64_t>(softmax.getAxis())};
  if (auto concat = dyn_cast_or_null<ConcatOp>(anchor))
    return {static_cast<int64_t>(concat.getAxis())};
  if (isa_and_nonnull<LayernormOp, RmsnormOp, RopeOp, AttentionOp>(anchor))
    return {rank - 1};
  return {};
}

int64_t ark::countTiles(ArrayRef<int64_t> domain, ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (auto [extent, size] : llvm::zip(domain, tile))
    count *= std::max<int64_t>(divideCeil(extent, size), 1);
  return count;
}

int64_t ark::divideEvenly(int64_t extent, int64_t wanted, int64_t unit) {
  if (extent <= wanted)
    return std::max<int64_t>(extent, 1);
  for (int64_t size = wanted; size > wanted / 2; --size)
    if (extent % size == 0 && (size % unit == 0 || wanted < unit))
      return size;
  int64_t count = divideCeil(extent, wanted);
  return llvm::alignTo(divideCeil(extent, count), wanted < unit ? 1 : unit);
}

int64_t ark::getBytesPerElement(GroupOp group, Operation *anchor,
                                ArrayRef<int64_t> domain) {
  auto product = [](ArrayRef<int64_t> shape) {
    return std::max<int64_t>(std::accumulate(shape.begin(), shape.end(),
                                             int64_t(1),
                                             std::multiplies<int64_t>()),
                             1);
  };
  int64_t bytes = getBytes(getTensorType(group.getResult(0)).getElementType());
  if (!anchor)
    return 2 * bytes;
  RankedTensorType operand = getTensorType(anchor->getOperand(0));
  int64_t ratio =
      isa<EmbeddingOp, GatherOp, UpdateOp, ConcatOp>(anchor)
          ? 1
          : divideCeil(product(operand.getShape()), product(domain));
  return bytes + ratio * getBytes(operand.getElementType());
}

Tile ark::legalize(GroupOp group, Tile tile) {
  Operation *anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group, anchor);
  int64_t rank = domain.size();
  for (int64_t dim = 0; dim < rank; ++dim)
    tile[dim] = std::max<int64_t>(std::min(tile[dim], domain[dim]), 1);
  for (int64_t dim : getWholeDims(anchor, rank))
    tile[dim] = std::max<int64_t>(domain[dim], 1);
  auto attention = dyn_cast_or_null<AttentionOp>(anchor);
  int64_t kvHeads =
      attention ? getTensorType(attention.getKey()).getDimSize(rank - 3) : 0;
  if (kvHeads == 0)
    return tile;
  int64_t sharing = domain[rank - 3] / kvHeads;
  int64_t &heads = tile[rank - 3];
  if (heads > sharing)
    heads -= heads % sharing;
  while (heads < sharing && sharing % heads != 0)
    --heads;
  return tile;
}
