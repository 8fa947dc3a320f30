//===- TileShape.cpp - Tile shapes that a group permits -------------------===//

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
  if (isa_and_nonnull<LayernormOp, RmsnormOp, RopeOp, AttentionOp,
                      PartialAttentionOp, CombineAttentionOp>(anchor))
    return {rank - 1};
  return {};
}

SmallVector<int64_t> ark::getSerialDims(Operation *anchor) {
  SmallVector<int64_t> dims;
  auto update = dyn_cast_or_null<UpdateOp>(anchor);
  if (!update)
    return dims;
  ArrayRef<int64_t> rows = getTensorType(update.getValue()).getShape();
  for (auto [dim, offset] : llvm::enumerate(update.getStaticOffsets()))
    if (ShapedType::isDynamic(offset) && rows[dim] > 1)
      dims.push_back(dim);
  return dims;
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

std::optional<HeadDims> ark::getHeadDims(Operation *anchor) {
  auto get = [&](auto attention) -> std::optional<HeadDims> {
    int64_t dim = getTensorType(attention.getQuery()).getRank() - 3;
    int64_t kvHeads = getTensorType(attention.getKey()).getDimSize(dim);
    return HeadDims{dim, getTensorType(attention.getQuery()).getDimSize(dim) /
                             kvHeads};
  };
  if (auto attention = dyn_cast_or_null<AttentionOp>(anchor))
    return get(attention);
  if (auto attention = dyn_cast_or_null<PartialAttentionOp>(anchor))
    return get(attention);
  return std::nullopt;
}

bool ark::isPiece(int64_t rows, int64_t rowsOfState, int64_t size) {
  return rows == 1 && size > 1 && size < rowsOfState && rowsOfState % size == 0;
}

std::optional<int64_t> ark::getPieceDim(GroupOp group, ArrayRef<int64_t> tile) {
  auto update = dyn_cast_or_null<UpdateOp>(getTileAnchor(group));
  if (!update || update.getOffsets().size() != 1)
    return std::nullopt;
  ArrayRef<int64_t> offsets = update.getStaticOffsets();
  int64_t dim = llvm::find_if(offsets, ShapedType::isDynamic) - offsets.begin();
  return isPiece(getTensorType(update.getValue()).getDimSize(dim),
                 getTensorType(update.getState()).getDimSize(dim), tile[dim])
             ? std::optional(dim)
             : std::nullopt;
}

Tile ark::legalize(GroupOp group, Tile tile) {
  Operation *anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group, anchor);
  int64_t rank = domain.size();
  std::optional<int64_t> pieceDim = getPieceDim(group, tile);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != pieceDim)
      tile[dim] = std::max<int64_t>(std::min(tile[dim], domain[dim]), 1);
  for (int64_t dim : getWholeDims(anchor, rank))
    tile[dim] = std::max<int64_t>(domain[dim], 1);
  // A vCTA processes the keys of one piece.
  if (isa_and_nonnull<PartialAttentionOp>(anchor))
    tile[rank - 2] = 1;
  // Each row needs its own search loops.
  if (isa_and_nonnull<TopThresholdOp>(anchor))
    tile.assign(rank, 1);
  std::optional<HeadDims> headDims = getHeadDims(anchor);
  if (!headDims)
    return tile;
  int64_t sharing = headDims->sharing;
  int64_t &heads = tile[headDims->dim];
  if (heads > sharing)
    heads -= heads % sharing;
  while (heads < sharing && sharing % heads != 0)
    --heads;
  return tile;
}
