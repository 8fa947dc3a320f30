//===- PlannedTile.cpp - The tile of the user's plan ----------------------===//

#include "passes/tiling/selection/PlannedTile.h"

using namespace mlir;
using namespace mlir::ark;

static FailureOr<Tile> parsePlannedTile(GroupOp group, Attribute attr) {
  Tile tile;
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attr)) {
    tile.assign(array.asArrayRef().begin(), array.asArrayRef().end());
    return tile;
  }
  auto array = dyn_cast<ArrayAttr>(attr);
  for (Attribute extent : array ? array.getValue() : ArrayRef<Attribute>()) {
    auto integer = dyn_cast<IntegerAttr>(extent);
    if (!integer)
      array = nullptr;
    else
      tile.push_back(integer.getValue().getSExtValue());
  }
  if (array)
    return tile;
  group.emitError("plan of '") << group.getName() << "' has tile = " << attr
                               << "; expected a list of extents";
  return failure();
}

/// Returns the planned tile, clipped to the result. Fails if the group does not
/// permit one of the planned extents.
static FailureOr<std::optional<Tile>> keepPlanned(GroupOp group, Tile planned,
                                                  size_t numGiven) {
  Tile legal = legalize(group, planned);
  ArrayRef<int64_t> domain = getDomain(group);
  for (size_t dim = planned.size() - numGiven; dim < planned.size(); ++dim) {
    int64_t clipped = std::max<int64_t>(std::min(planned[dim], domain[dim]), 1);
    if (legal[dim] == clipped)
      continue;
    group.emitError("plan of '")
        << group.getName() << "' has tile extent " << planned[dim]
        << " in dimension " << dim << " of " << group.getResult(0).getType()
        << ", which the group does not permit: the nearest extent is "
        << legal[dim];
    return failure();
  }
  return std::optional<Tile>(legal);
}

FailureOr<std::optional<Tile>> ark::getPlannedTile(GroupOp group) {
  DictionaryAttr plan = group.getPlanAttr();
  Attribute attr = plan ? plan.get("tile") : Attribute();
  if (!attr)
    return std::optional<Tile>();
  FailureOr<Tile> tile = parsePlannedTile(group, attr);
  if (failed(tile))
    return failure();
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(group.getResult(0).getType()).getShape();
  if (tile->size() > shape.size() ||
      llvm::any_of(*tile, [](int64_t extent) { return extent <= 0; })) {
    group.emitError("plan of '")
        << group.getName() << "' has tile = " << attr
        << " for a result of type " << group.getResult(0).getType()
        << "; expected a positive extent for each of its last dimensions";
    return failure();
  }
  size_t numGiven = tile->size();
  tile->insert(tile->begin(), shape.size() - numGiven, 1);
  return keepPlanned(group, *tile, numGiven);
}
