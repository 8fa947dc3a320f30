//===- AlignRows.cpp - Equal rows for a chain of row ops ------------------===//
//
// The derivative of a softmax, or of a norm over other dimensions than the last
// one, is a chain of elementwise ops and of sums over rows. Two tasks of the
// chain can be fused if their tiles have the same rows. Tiles chosen by bytes
// alone have different numbers of rows: a sum writes no row, and the dtypes of
// ops differ. The same holds for the statistics of a norm beside the gradient
// of its operand, which read the same rows.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/selection/TileShape.h"

#include "dialects/ark/ArkInference.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::ark;

/// Tiles are not aligned if one of them would become smaller than its wanted
/// size by more than this factor: small tiles cost more than a hand-off.
static constexpr int64_t kMaxRatio = 4;

using Movable = llvm::SmallPtrSetImpl<Operation *>;

static ArrayRef<int64_t> getShape(Value value) {
  return tensorType(value).getShape();
}

/// Returns true if an op reduces the last dimension only.
static bool reducesRows(Operation *anchor) {
  auto axes =
      anchor ? anchor->getAttrOfType<DenseI64ArrayAttr>("axes") : nullptr;
  return axes && axes.size() == 1 &&
         axes[0] == tensorType(anchor->getOperand(0)).getRank() - 1;
}

/// Returns the shape of the rows on which a group works, `[..., columns]`, or
/// an empty one if its tiles do not consist of whole rows.
static ArrayRef<int64_t> getRowShape(GroupOp group) {
  Operation *anchor = getTileAnchor(group);
  if (reducesRows(anchor))
    return getShape(anchor->getOperand(0));
  ArrayRef<int64_t> domain = getDomain(group);
  bool isWhole = !anchor && domain.size() > 1 && domain.back() > 1 &&
                 group.getTile()->back() == domain.back();
  return isWhole ? domain : ArrayRef<int64_t>();
}

/// Returns the tile of a group in the dimensions before the columns.
static ArrayRef<int64_t> getRowTile(GroupOp group, size_t rank) {
  return group.getTile()->take_front(rank - 1);
}

static int64_t countRows(ArrayRef<int64_t> rows) {
  return ShapedType::getNumElements(rows);
}

/// Returns the tile of `group` with the rows of `rows`.
static Tile withRows(GroupOp group, ArrayRef<int64_t> rows) {
  Tile tile(*group.getTile());
  llvm::copy(rows, tile.begin());
  return legalize(group, tile);
}

/// Gives all groups of a chain the rows of the smallest tile.
static void alignChain(ArrayRef<GroupOp> chain, size_t rank) {
  auto rowsOf = [rank](GroupOp group) { return getRowTile(group, rank); };
  auto isFewer = [&](GroupOp left, GroupOp right) {
    return countRows(rowsOf(left)) < countRows(rowsOf(right));
  };
  auto [least, most] = std::minmax_element(chain.begin(), chain.end(), isFewer);
  if (countRows(rowsOf(*most)) > kMaxRatio * countRows(rowsOf(*least)))
    return;
  Tile rows(rowsOf(*least));
  for (GroupOp group : chain)
    group.setTile(withRows(group, rows));
}

/// Returns the tensor whose rows the anchor of a group reads as its first
/// operand, or null.
template <typename AnchorT>
static Value getRowsRead(GroupOp group) {
  Operation *anchor = getTileAnchor(group);
  if (!isa_and_present<AnchorT>(anchor))
    return {};
  auto rows = dyn_cast<BlockArgument>(anchor->getOperand(0));
  return rows ? group.getInputs()[rows.getArgNumber()] : Value();
}

/// Gives the statistics of a norm, and the gradient of its operand, equal rows.
static void alignStatistics(GroupOp statistics, const Movable &movable) {
  Value rows = getRowsRead<NormStatisticsOp>(statistics);
  if (!rows || !movable.contains(statistics))
    return;
  for (Operation *user : rows.getUsers())
    if (auto gradient = dyn_cast<GroupOp>(user);
        gradient && movable.contains(gradient) &&
        getRowsRead<NormInputGradientOp>(gradient) == rows)
      alignChain({statistics, gradient}, getShape(rows).size());
}

void ark::alignRows(ProgramOp program, const Movable &movable) {
  for (auto group : program.getBody().getOps<GroupOp>())
    alignStatistics(group, movable);
  llvm::EquivalenceClasses<Operation *> chains;
  llvm::MapVector<Operation *, ArrayRef<int64_t>> shapes;
  for (auto group : program.getBody().getOps<GroupOp>())
    if (movable.contains(group))
      if (ArrayRef<int64_t> shape = getRowShape(group); !shape.empty()) {
        shapes[group] = shape;
        chains.insert(group);
      }
  for (auto [reader, shape] : shapes)
    for (Value input : cast<GroupOp>(reader).getInputs()) {
      auto producer = input.getDefiningOp<GroupOp>();
      if (producer && shapes.contains(producer) &&
          shapes.lookup(producer) == shape)
        chains.unionSets(producer, reader);
    }
  llvm::MapVector<Operation *, SmallVector<GroupOp>> members;
  for (auto [group, shape] : shapes)
    members[chains.getLeaderValue(group)].push_back(cast<GroupOp>(group));
  for (auto &[leader, chain] : members)
    if (llvm::any_of(chain, [](GroupOp group) {
          return reducesRows(getTileAnchor(group));
        }))
      alignChain(chain, shapes.lookup(leader).size());
}
