//===- TileShape.cpp - Tile shapes that a group permits -------------------===//

#include "passes/tiling/selection/TileShape.h"

#include "dialects/ark/ArkInference.h"
#include "lib/support/GatheredMatrices.h"
#include "lib/support/PlanRank.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

static int64_t getBytes(Type element) {
  return divideCeil(element.getIntOrFloatBitWidth(), 8);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

AnchorOpInterface ark::getTileAnchor(GroupOp group) {
  AnchorOpInterface last;
  for (auto anchor : group.getBody().getOps<AnchorOpInterface>())
    last = anchor; // a gather before a product chooses its right side
  return last;
}

ArrayRef<int64_t> ark::getDomain(GroupOp group) {
  AnchorOpInterface anchor = getTileAnchor(group);
  ArrayRef<int64_t> result = tensorType(group.getResult(0)).getShape();
  return anchor ? anchor.getDomain(result) : result;
}

bool ark::addsMatrices(GroupOp group) {
  constexpr int64_t kMaxMatrices = 16;
  auto sum = dyn_cast_if_present<ReduceSumOp>(
      static_cast<Operation *>(getTileAnchor(group)));
  return sum && sum.getAxes() == ArrayRef<int64_t>{0} &&
         tensorType(sum.getOperand()).getDimSize(0) <= kMaxMatrices &&
         tensorType(sum.getResult()).getRank() > 1;
}

static bool isReadByAnotherRank(Value value, Attribute rank) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<ViewOpInterface>(user))
      return isReadByAnotherRank(user->getResult(0), rank);
    auto reader = dyn_cast<GroupOp>(user);
    return reader && getRankAttr(reader) != rank;
  });
}

bool ark::isReadByAnotherRank(GroupOp group) {
  return ::isReadByAnotherRank(group.getResult(0), getRankAttr(group));
}

bool ark::readsAnotherRank(GroupOp group) {
  return llvm::any_of(group.getInputs(), [&](Value input) {
    while (auto view = input.getDefiningOp<ViewOpInterface>())
      input = view.getViewSource();
    auto producer = input.getDefiningOp<GroupOp>();
    return producer && getRankAttr(producer) != getRankAttr(group);
  });
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

int64_t ark::findDivisor(int64_t extent, int64_t wanted) {
  for (int64_t size = std::min(extent, wanted); size > wanted / 4; --size)
    if (extent % size == 0)
      return size;
  return 0;
}

int64_t ark::getBytesPerElement(GroupOp group) {
  auto product = [](ArrayRef<int64_t> shape) {
    return std::max<int64_t>(std::accumulate(shape.begin(), shape.end(),
                                             int64_t(1),
                                             std::multiplies<int64_t>()),
                             1);
  };
  int64_t bytes = getBytes(tensorType(group.getResult(0)).getElementType());
  AnchorOpInterface anchor = getTileAnchor(group);
  if (!anchor)
    return 2 * bytes;
  RankedTensorType operand = tensorType(anchor->getOperand(0));
  int64_t ratio =
      anchor.copiesElements()
          ? 1
          : divideCeil(product(operand.getShape()), product(getDomain(group)));
  return bytes + ratio * getBytes(operand.getElementType());
}

/// Shorter columns are read in a few steps.
static constexpr int64_t kLongColumn = 256;

int64_t ark::getLeastColumns(GroupOp group, TargetAttr target) {
  Operation *anchor = getTileAnchor(group);
  auto axes =
      anchor ? anchor->getAttrOfType<DenseI64ArrayAttr>("axes") : nullptr;
  if (!axes || !target.isGpu())
    return 1;
  RankedTensorType operand = tensorType(anchor->getOperand(0));
  if (llvm::is_contained(axes.asArrayRef(), operand.getRank() - 1))
    return 1;
  int64_t length = 1;
  for (int64_t axis : axes.asArrayRef())
    length *= operand.getDimSize(axis);
  if (length < kLongColumn)
    return 1;
  // A prologue may widen the elements that it reads.
  int64_t bytes = getBytes(operand.getElementType());
  for (BlockArgument input : group.getBody().getArguments())
    if (tensorType(input).getShape() == operand.getShape())
      bytes = std::min(bytes, getBytes(tensorType(input).getElementType()));
  return divideCeil(kSectorBytes, bytes);
}

bool ark::isInterleaved(int64_t rows, int64_t rowsOfState, int64_t size) {
  return rows == 1 && size > 1 && size < rowsOfState && rowsOfState % size == 0;
}

std::optional<int64_t> ark::getInterleavedDim(GroupOp group,
                                              ArrayRef<int64_t> tile) {
  auto update =
      dyn_cast_if_present<UpdateOp>(getTileAnchor(group).getOperation());
  if (!update || update.getOffsets().size() != 1)
    return std::nullopt;
  ArrayRef<int64_t> offsets = update.getStaticOffsets();
  int64_t dim = llvm::find_if(offsets, ShapedType::isDynamic) - offsets.begin();
  return isInterleaved(tensorType(update.getValue()).getDimSize(dim),
                       tensorType(update.getState()).getDimSize(dim), tile[dim])
             ? std::optional(dim)
             : std::nullopt;
}

Tile ark::legalize(GroupOp group, Tile tile) {
  AnchorOpInterface anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group);
  int64_t rank = domain.size();
  std::optional<int64_t> interleavedDim = getInterleavedDim(group, tile);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != interleavedDim)
      tile[dim] = std::max<int64_t>(std::min(tile[dim], domain[dim]), 1);
  if (!anchor)
    return tile;
  for (int64_t dim : anchor.getWholeDims(rank))
    tile[dim] = std::max<int64_t>(domain[dim], 1);
  for (int64_t dim : anchor.getUnitDims(rank))
    tile[dim] = 1;
  auto product = dyn_cast<MatmulOp>(anchor.getOperation());
  GatherOp gather = product ? getGather(product) : GatherOp();
  // A tile has one matrix.
  if (gather && tensorType(gather.getIndices()).getNumElements() > 1)
    tile[rank - 3] = 1;
  auto attention = dyn_cast<AttentionOpInterface>(anchor.getOperation());
  if (!attention)
    return tile;
  int64_t sharing = attention.getHeadsPerKey();
  int64_t &heads = tile[attention.getHeadDim()];
  if (heads > sharing)
    heads -= heads % sharing;
  while (heads < sharing && sharing % heads != 0)
    --heads;
  return tile;
}
