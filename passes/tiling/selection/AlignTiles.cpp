//===- AlignTiles.cpp - Align tiles with tiles of the only reader ---------===//
//
// Queries and the cache rows of attention come from small tasks. If the tiles
// of such a task match those of attention, each of its vCTAs serves one vCTA of
// attention, and the tasks can be fused. A norm of few rows can be fused as
// well if one vCTA computes all rows: every vCTA of the matmuls that read the
// norm then repeats the norm. A norm of a sum of matrices, which has one tile
// for each SM, is fused with the sum.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/selection/TileShape.h"

#include "dialects/ark/ArkInference.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static ArrayRef<int64_t> getShape(Value value) {
  return tensorType(value).getShape();
}

static int64_t getBytes(Value value) {
  RankedTensorType type = tensorType(value);
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(),
                          8);
}

/// Returns the operand of a group of which `value` is the block argument, or
/// null.
static Value getOperand(GroupOp reader, Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  return argument ? reader.getInputs()[argument.getArgNumber()] : Value();
}

/// Returns the group that produces an operand without other readers, or null.
static GroupOp getProducerOfOneReader(Value operand) {
  return operand && operand.hasOneUse() ? operand.getDefiningOp<GroupOp>()
                                        : GroupOp();
}

/// Returns the operand whose tile equals the tile of the result, or null.
static Value getTiledOperand(GroupOp group) {
  AnchorOpInterface anchor = getTileAnchor(group);
  return anchor ? anchor.getTiledOperand() : Value();
}

/// Returns true if the rows of a group are so cheap that all vCTAs of a reader
/// may recompute them.
static bool hasCheapRows(GroupOp group) {
  AnchorOpInterface anchor = getTileAnchor(group);
  return anchor && anchor.hasCheapRows();
}

using Movable = llvm::SmallPtrSetImpl<Operation *>;

/// Sets the tile of the producer of `operand`, and then of the producer of its
/// tiled operand.
static void align(Value operand, ArrayRef<int64_t> tile,
                  const Movable &movable) {
  while (GroupOp producer = getProducerOfOneReader(operand)) {
    ArrayRef<int64_t> domain = getDomain(producer);
    if (!movable.contains(producer) || !getTiledOperand(producer) ||
        domain.size() != tile.size())
      return;
    producer.setTile(legalize(producer, Tile(tile)));
    operand = getOperand(producer, getTiledOperand(producer));
  }
}

static void alignWithAttention(GroupOp group, AttentionOpInterface attention,
                               const Movable &movable) {
  Tile tile(*group.getTile());
  ArrayRef<int64_t> domain = getDomain(group);
  int64_t rank = tile.size();
  tile[rank - 1] = getShape(attention.getQuery()).back();
  align(getOperand(group, attention.getQuery()), tile, movable);

  // If several tiles of queries read the keys, keys and values have several
  // readers, and their tiles cannot match one reader.
  int64_t sharing = attention.getHeadsPerKey();
  if (tile[rank - 2] < domain[rank - 2] || tile[rank - 3] % sharing != 0)
    return;
  tile[rank - 3] /= sharing;
  for (Value operand : {attention.getKey(), attention.getValue()}) {
    tile[rank - 2] = getShape(operand)[rank - 2];
    tile[rank - 1] = getShape(operand)[rank - 1];
    align(getOperand(group, operand), tile, movable);
  }
}

/// Aligns the producers of a partial attention. Tiles of queries equal those of
/// the attention without the partition dimension. A vCTA of a cache update
/// writes the rows of its partition, if the update can be tiled in this way.
static void alignWithPartitions(GroupOp group, AttentionOpInterface attention,
                                const Movable &movable) {
  Tile tile(*group.getTile());
  ArrayRef<int64_t> domain = getDomain(group);
  int64_t rank = tile.size();
  tile.erase(tile.end() - 2);
  tile.back() = getShape(attention.getQuery()).back();
  align(getOperand(group, attention.getQuery()), tile, movable);

  int64_t sharing = attention.getHeadsPerKey();
  if (tile[rank - 3] < domain[rank - 3] || tile[rank - 4] % sharing != 0)
    return;
  tile[rank - 4] /= sharing;
  for (Value operand : {attention.getKey(), attention.getValue()}) {
    tile[rank - 3] = getShape(operand)[rank - 3];
    tile[rank - 2] = getShape(operand).back();
    // A reshape has split the key dimension of the cache into keys and
    // partitions.
    Value split = getOperand(group, operand);
    auto reshape = split ? split.getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (reshape && split.hasOneUse())
      align(reshape.getSource(), tile, movable);
  }
}

/// Returns true if every tile of `reader` multiplies by all rows of `rows`, the
/// left operand of a matmul.
static bool multipliesAll(GroupOp reader, Value rows) {
  auto matmul =
      dyn_cast_if_present<MatmulOp>(getTileAnchor(reader).getOperation());
  if (!matmul || matmul.getTransposeInput() ||
      getOperand(reader, matmul.getLhs()) != rows)
    return false;
  ArrayRef<int64_t> tile = *reader.getTile();
  return tile.drop_back() == getDomain(reader).drop_back() &&
         tile.size() == getShape(rows).size();
}

/// Assigns all rows of a norm to one vCTA if a warp gets at most one row, the
/// rows fit into an SM's memory, and the matmuls that read them have the same
/// number of tiles.
static void alignWithMatmul(GroupOp group, MatmulOp matmul,
                            const Movable &movable, TargetAttr target) {
  Value rows = getOperand(group, matmul.getLhs());
  auto producer = rows ? rows.getDefiningOp<GroupOp>() : GroupOp();
  if (!target.isGpu() || !producer || !movable.contains(producer) ||
      !hasCheapRows(producer) ||
      tensorType(rows).getNumElements() / getShape(rows).back() >
          target.getWarps() ||
      getBytes(rows) * kRowsShare > target.getSharedMemory())
    return;
  auto countTilesOf = [](GroupOp reader) {
    return countTiles(getDomain(reader), *reader.getTile());
  };
  if (llvm::all_of(rows.getUsers(), [&](Operation *user) {
        auto reader = dyn_cast<GroupOp>(user);
        return reader && multipliesAll(reader, rows) &&
               countTilesOf(reader) == countTilesOf(group);
      }))
    producer.setTile(legalize(producer, Tile(getShape(rows))));
}

/// Gives a norm the tile of the group that produces its rows and adds matrices,
/// so that the tasks can be fused.
static void alignWithSum(GroupOp norm, const Movable &movable) {
  Value rows = getOperand(norm, getTiledOperand(norm));
  auto sum = rows ? rows.getDefiningOp<GroupOp>() : GroupOp();
  if (!sum || !addsMatrices(sum) || !movable.contains(norm) ||
      getDomain(sum) != getDomain(norm))
    return;
  Tile tile = legalize(norm, Tile(*sum.getTile()));
  if (ArrayRef(tile) == *sum.getTile())
    norm.setTile(tile);
}

/// Returns the operand of a group that only copies it, or null.
static Value getCopied(GroupOp group) {
  Operation &op = group.getBody().front().front();
  auto copy = dyn_cast<CopyOp>(op);
  bool isOnly = copy && op.getNextNode()->hasTrait<OpTrait::IsTerminator>();
  return isOnly ? getOperand(group, copy.getOperand()) : Value();
}

void ark::alignPut(GroupOp group, const Movable &movable) {
  Value copied = getCopied(group);
  auto producer = copied ? copied.getDefiningOp<GroupOp>() : GroupOp();
  if (producer && movable.contains(group) && isReadByAnotherRank(group) &&
      getDomain(group) == getDomain(producer))
    group.setTile(legalize(group, Tile(*producer.getTile())));
}

void ark::alignTiles(GroupOp group, const Movable &movable, TargetAttr target) {
  Operation *anchor = getTileAnchor(group);
  if (auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor)) {
    if (attention.hasPartitions())
      alignWithPartitions(group, attention, movable);
    else
      alignWithAttention(group, attention, movable);
  } else if (auto matmul = dyn_cast_if_present<MatmulOp>(anchor)) {
    alignWithMatmul(group, matmul, movable, target);
  } else if (hasCheapRows(group)) {
    alignWithSum(group, movable);
  }
}
