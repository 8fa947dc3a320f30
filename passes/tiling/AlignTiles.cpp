//===- AlignTiles.cpp - Tiles that fit those of their only reader ---------===//
//
// What attention reads of its queries and of a cache is made by small tasks.
// Cut as attention is, every vCTA of theirs works for one of attention alone,
// and the tasks can become one.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/TileShape.h"

using namespace mlir;
using namespace mlir::ark;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The group whose result alone a value in the body of `reader` is, if nothing
/// but `reader` reads it.
static GroupOp getOwnProducer(GroupOp reader, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  Value operand = reader.getInputs()[argument.getArgNumber()];
  return operand.hasOneUse() ? operand.getDefiningOp<GroupOp>() : GroupOp();
}

/// The operand of a group that a tile of the result reads the same tile of.
static Value getTiledOperand(GroupOp group) {
  Operation *anchor = getTileAnchor(group);
  if (auto update = dyn_cast_or_null<UpdateOp>(anchor))
    return update.getValue();
  if (auto rope = dyn_cast_or_null<RopeOp>(anchor))
    return rope->getOperand(0);
  return {};
}

/// Gives the tile to what makes `value`, and to what makes that in turn.
static void align(GroupOp reader, Value value, ArrayRef<int64_t> tile,
                  const llvm::SmallPtrSetImpl<Operation *> &movable) {
  while (GroupOp producer = value ? getOwnProducer(reader, value) : GroupOp()) {
    ArrayRef<int64_t> domain = getDomain(producer, getTileAnchor(producer));
    if (!movable.contains(producer) || !getTiledOperand(producer) ||
        domain.size() != tile.size())
      return;
    producer.setTile(legalize(producer, Tile(tile)));
    reader = producer;
    value = getTiledOperand(producer);
  }
}

void ark::alignTiles(GroupOp group,
                     const llvm::SmallPtrSetImpl<Operation *> &movable) {
  auto attention = dyn_cast_or_null<AttentionOp>(getTileAnchor(group));
  if (!attention)
    return;
  Tile tile(*group.getTile());
  ArrayRef<int64_t> domain = getDomain(group, attention);
  int64_t rank = tile.size();
  tile[rank - 1] = getShape(attention.getQuery()).back();
  align(group, attention.getQuery(), tile, movable);

  // Several tiles of queries read the same keys: these have no single reader.
  int64_t kvHeads = getShape(attention.getKey())[rank - 3];
  int64_t sharing = kvHeads ? domain[rank - 3] / kvHeads : 1;
  if (tile[rank - 2] < domain[rank - 2] || tile[rank - 3] % sharing != 0)
    return;
  tile[rank - 3] /= sharing;
  for (Value operand : {attention.getKey(), attention.getValue()}) {
    tile[rank - 2] = getShape(operand)[rank - 2];
    tile[rank - 1] = getShape(operand)[rank - 1];
    align(group, operand, tile, movable);
  }
}
