//===- SelectTiles.cpp - Select the tile of one vCTA ----------------------===//

#include "lib/analysis/CostModel.h"
#include "passes/tiling/selection/ConcurrentProducts.h"
#include "passes/tiling/selection/Passes.h"
#include "passes/tiling/selection/PlannedTile.h"
#include "passes/tiling/selection/TileSelector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SELECTTILESPASS
#include "passes/tiling/selection/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns true for an attention over partitions of the keys. Its tiles are not
/// cut further, since every SM has a partition.
static bool hasPartitions(Operation *anchor) {
  auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor);
  return attention && attention.hasPartitions();
}

namespace {
struct SelectTilesPass : ark::impl::SelectTilesPassBase<SelectTilesPass> {
  using SelectTilesPassBase::SelectTilesPassBase;

  void runOnOperation() override {
    TargetAttr target = findRankTarget(getOperation());
    if (!target) {
      getOperation().emitError("the module has no '")
          << ArkDialect::kTargetAttr << "' to choose tiles for";
      return signalPassFailure();
    }
    TileSelector selector{target,  rowBytes, tilesPerSM,
                          matmulM, matmulN,  attentionRows};
    llvm::DenseMap<Operation *, Tile> concurrent =
        selectConcurrentProducts(getOperation(), selector);
    llvm::SmallPtrSet<Operation *, 32> movable;
    for (auto group : getOperation().getBody().getOps<GroupOp>()) {
      if (std::optional<ArrayRef<int64_t>> tile = group.getTile()) {
        group.setTile(legalize(group, Tile(*tile)));
        continue;
      }
      FailureOr<std::optional<Tile>> planned = getPlannedTile(group);
      if (failed(planned))
        return signalPassFailure();
      ++(*planned ? numPlanned : numSelected);
      if (*planned) {
        group.setTile(**planned);
        continue;
      }
      if (auto found = concurrent.find(group); found != concurrent.end()) {
        group.setTile(legalize(group, found->second));
        continue;
      }
      Tile tile = legalize(group, selector.select(group));
      if (selector.needsListedTile(group)) {
        group.setTile(tile);
        continue;
      }
      bool isFixed =
          matmulM > 0 || matmulN > 0 || hasPartitions(getTileAnchor(group));
      std::optional<int64_t> dividedDim = selector.getDividedDim(group, tile);
      group.setTile(isFixed ? tile
                            : cutForIdleSMs(group, tile, target, dividedDim));
      movable.insert(group);
    }
    for (auto group : getOperation().getBody().getOps<GroupOp>())
      alignTiles(group, movable, target);
    if (target.isGpu())
      alignRows(getOperation(), movable);
    // Runs when the tiles of all producers are final.
    for (auto group : getOperation().getBody().getOps<GroupOp>())
      alignPut(group, movable);
  }
};
} // namespace
