//===- InPlaceReads.cpp - Tasks that read elements they update ------------===//

#include "passes/memory/bufferize/InPlaceReads.h"

#include "lib/analysis/Regions.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the first element of `part` in every dimension of `whole` if `part`
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
  // The slice may be shorter than the whole tensor, so that only its last tile
  // is clipped. Such tiles differ in their types.
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
