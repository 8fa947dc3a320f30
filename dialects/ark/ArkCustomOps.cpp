//===- ArkCustomOps.cpp - Ops that users define ---------------------------===//
//
// Checks carry the constraint labels of ArkCustomOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "dialects/ark/ArkRegions.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the name of input `index`, or of the result, in messages.
static std::string getLabel(CustomOp op, unsigned index) {
  if (index == op.getInputs().size())
    return "the result";
  return ("input " + Twine(index)).str();
}

static RegionAttr getRegion(CustomOp op, unsigned index) {
  return index == op.getInputs().size() ? op.getOutRegion()
                                        : op.getInputRegion(index);
}

static RankedTensorType getTensorType(CustomOp op, unsigned index) {
  Value value =
      index == op.getInputs().size() ? op.getResult() : op.getInputs()[index];
  return cast<RankedTensorType>(value.getType());
}

/// custom_c2 and custom_c3 for one input, or for the result.
static LogicalResult verifyRegion(CustomOp op, unsigned index) {
  RankedTensorType type = getTensorType(op, index);
  RegionAttr region = getRegion(op, index);
  // custom_c2
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return op.emitOpError(getLabel(op, index))
           << " is " << type
           << ", without a static shape or without elements (custom_c2)";
  AffineMap offsets = region.getOffsets();
  if (offsets.getNumDims() != op.getGrid().size() ||
      offsets.getNumResults() != static_cast<size_t>(type.getRank()))
    return op.emitOpError("region ")
           << region << " of " << getLabel(op, index)
           << " does not fit a grid of rank " << op.getGrid().size() << " and "
           << type << " (custom_c2)";
  // custom_c3
  for (auto [dim, expr] : llvm::enumerate(offsets.getResults())) {
    std::optional<IndexRange> range = getRangeOverGrid(expr, op.getGrid());
    if (!range)
      return op.emitOpError("region ")
             << region << " of " << getLabel(op, index)
             << " has an offset in dimension " << dim
             << " that cannot be bounded over the grid (custom_c3)";
    if (range->lowest < 0 || range->highest >= type.getDimSize(dim))
      return op.emitOpError("region ")
             << region << " of " << getLabel(op, index) << " starts at "
             << (range->lowest < 0 ? range->lowest : range->highest)
             << " in dimension " << dim << " of " << type << " (custom_c3)";
  }
  return success();
}

/// Returns the type of a tile: extents in which some vCTA's region is clipped
/// are dynamic.
static RankedTensorType getTileType(CustomOp op, unsigned index) {
  RankedTensorType type = getTensorType(op, index);
  RegionAttr region = getRegion(op, index);
  SmallVector<int64_t> shape(region.getSizes());
  for (auto [dim, expr] : llvm::enumerate(region.getOffsets().getResults())) {
    int64_t last = getRangeOverGrid(expr, op.getGrid())->highest;
    // The sum of offset and size may not be representable.
    if (last > type.getDimSize(dim) - shape[dim])
      shape[dim] = ShapedType::kDynamic;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

LogicalResult CustomOp::verify() {
  // custom_c1
  if (getGrid().empty() || !countVCTAs(getGrid()))
    return emitOpError("needs a grid of positive extents with at most ")
           << kMaxVCTAs << " vCTAs (custom_c1)";
  // custom_c2
  if (getInputRegions().size() != getInputs().size())
    return emitOpError("has ") << getInputRegions().size() << " regions for "
                               << getInputs().size() << " inputs (custom_c2)";
  for (unsigned index = 0; index <= getInputs().size(); ++index)
    if (failed(verifyRegion(*this, index)))
      return failure();
  return success();
}

LogicalResult CustomOp::verifyRegions() {
  Block &block = getBody().front();
  size_t rank = getGrid().size(), tiles = getInputs().size() + 1;
  // custom_c4
  if (block.getNumArguments() != rank + tiles ||
      llvm::any_of(
          block.getArguments().take_front(rank),
          [](BlockArgument index) { return !index.getType().isIndex(); }))
    return emitOpError("body needs ")
           << rank << " indices and " << tiles << " tiles (custom_c4)";
  for (unsigned index = 0; index < tiles; ++index) {
    RankedTensorType expected = getTileType(*this, index);
    if (Type type = block.getArgument(rank + index).getType(); type != expected)
      return emitOpError("tile ") << type << " of " << getLabel(*this, index)
                                  << " is not " << expected << " (custom_c4)";
  }
  // custom_c5
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  RankedTensorType expected = getTileType(*this, tiles - 1);
  if (!yield || yield.getNumOperands() != 1)
    return emitOpError("body must yield one tensor (custom_c5)");
  if (yield.getOperand(0).getType() != expected)
    return emitOpError("body yields ")
           << yield.getOperand(0).getType() << ", not the tile " << expected
           << " of the result (custom_c5)";
  return success();
}
