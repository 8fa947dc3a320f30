//===- InPlaceReads.cpp - Tasks that read what they update ----------------===//

#include "passes/memory/InPlaceReads.h"

using namespace mlir;
using namespace mlir::ark;

/// Whether no two vCTAs have an element of `region` in common: every index of
/// the grid steps over whole tiles in a dimension of its own.
static bool isDisjoint(RegionAttr region, ArrayRef<int64_t> grid) {
  for (auto [index, extent] : llvm::enumerate(grid)) {
    AffineExpr dim = getAffineDimExpr(index, region.getContext());
    if (extent != 1 && llvm::none_of(llvm::zip(region.getOffsets().getResults(),
                                               region.getSizes()),
                                     [&](auto pair) {
                                       auto [offset, size] = pair;
                                       return offset == dim * size;
                                     }))
      return false;
  }
  return true;
}

/// The first element of `whole` in every dimension that `part` names, where it
/// is `whole` or a dense slice of it.
static std::optional<SmallVector<int64_t>> getStarts(Value part, Value whole) {
  if (part == whole)
    return SmallVector<int64_t>(
        cast<RankedTensorType>(whole.getType()).getRank(), 0);
  auto slice = part.getDefiningOp<SliceOp>();
  bool isDense = slice && llvm::all_of(slice.getSteps(),
                                       [](int64_t step) { return step == 1; });
  if (!isDense || slice.getSource() != whole)
    return std::nullopt;
  return llvm::to_vector(slice.getStarts());
}

bool ark::readsOwnElements(TaskOp task, unsigned input, unsigned out) {
  RegionAttr read = task.getRegion(input);
  RegionAttr written = task.getRegion(task.getInputs().size() + out);
  std::optional<SmallVector<int64_t>> starts =
      getStarts(task.getInputs()[input], task.getOuts()[out]);
  // A slice may end, and clip a tile, where the whole does not.
  if (!starts || read.getSizes() != written.getSizes() ||
      task.getInputTiles()[input].getType() !=
          task.getOutTiles()[out].getType())
    return false;
  for (auto [start, from, to] :
       llvm::zip(*starts, read.getOffsets().getResults(),
                 written.getOffsets().getResults()))
    if (from + start != to)
      return false;
  return isDisjoint(read, task.getGrid());
}
