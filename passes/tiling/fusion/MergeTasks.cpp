//===- MergeTasks.cpp - Merge two tasks into one --------------------------===//

#include "passes/tiling/fusion/MergeTasks.h"
#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// A tensor and the region that a vCTA accesses in this tensor.
using TensorRegion = std::pair<Value, RegionAttr>;

class TaskMerger {
public:
  TaskMerger(RewriterBase &rewriter, TaskOp first, TaskOp second,
             MergeKind kind)
      : rewriter(rewriter), first(first), second(second), kind(kind) {}

  TaskOp run();

private:
  RegionAttr getRegion(TaskOp task, unsigned operand);
  bool isKept(unsigned out);
  void collectOffsets();
  void collectOperands();
  TaskOp createTask();
  Value createTemporary(unsigned out);
  Value getPart(Value made, unsigned input);
  SmallVector<Value> inlineBody(TaskOp from, ValueRange arguments);
  void inlineBodies();
  void replaceResults();

  RewriterBase &rewriter;
  TaskOp first, second, merged;
  /// For every input of `second` that `first` produces, its offsets in the tile
  /// of `first`.
  llvm::SmallDenseMap<unsigned, SmallVector<int64_t>> offsets;
  MergeKind kind;
  llvm::SetVector<TensorRegion> inputs;
  SmallVector<TensorRegion> outs;
  SmallVector<int64_t> fresh;
  bool updates = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Merged task
//===----------------------------------------------------------------------===//

static bool beginsWithGrid(TaskOp second, TaskOp first) {
  ArrayRef<int64_t> begin = first.getGrid(), whole = second.getGrid();
  return begin.size() < whole.size() && whole.take_front(begin.size()) == begin;
}

bool ark::isRepeatable(TaskOp first, TaskOp second) {
  return first.getNumVCTAs() == 1 || beginsWithGrid(second, first);
}

RegionAttr ark::getMergedRegion(TaskOp first, unsigned operand, TaskOp second,
                                MergeKind kind) {
  RegionAttr region = first.getRegion(operand);
  if (kind == MergeKind::Pairwise)
    return region;
  // A single vCTA has index zero in every dimension.
  MLIRContext *context = first.getContext();
  SmallVector<AffineExpr> indices;
  for (unsigned dim = 0; dim < first.getGrid().size(); ++dim)
    indices.push_back(first.getNumVCTAs() == 1
                          ? getAffineConstantExpr(0, context)
                          : getAffineDimExpr(dim, context));
  return RegionAttr::get(
      context,
      region.getOffsets().replaceDimsAndSymbols(
          indices, {}, second.getGrid().size(), /*numResultSyms=*/0),
      region.getSizes());
}

std::optional<SmallVector<int64_t>>
ark::getOffsetsInPart(TaskOp first, unsigned out, TaskOp second, unsigned input,
                      MergeKind kind) {
  RegionAttr part =
      getMergedRegion(first, first.getInputs().size() + out, second, kind);
  RegionAttr region = second.getRegion(input);
  auto made = cast<RankedTensorType>(first.getOutTiles()[out].getType());
  auto read = cast<RankedTensorType>(second.getInputTiles()[input].getType());
  SmallVector<int64_t> offsets;
  for (int64_t dim = 0; dim < made.getRank(); ++dim) {
    AffineExpr distance = simplifyAffineExpr(
        region.getOffsets().getResult(dim) - part.getOffsets().getResult(dim),
        second.getGrid().size(), /*numSymbols=*/0);
    auto begin = dyn_cast<AffineConstantExpr>(distance);
    if (!begin || begin.getValue() < 0)
      return std::nullopt;
    // Clipped tiles must be clipped in the same way.
    int64_t end = begin.getValue() + region.getSizes()[dim];
    bool isWhole = begin.getValue() == 0 && end == part.getSizes()[dim];
    bool isStatic = !made.isDynamicDim(dim) && !read.isDynamicDim(dim);
    if (isStatic ? end > made.getDimSize(dim)
                 : !isWhole || made.getDimSize(dim) != read.getDimSize(dim))
      return std::nullopt;
    offsets.push_back(begin.getValue());
  }
  return offsets;
}

/// Returns a region as a function of the merged task's grid, which is the grid
/// of `second`.
RegionAttr TaskMerger::getRegion(TaskOp task, unsigned operand) {
  return task == second ? task.getRegion(operand)
                        : getMergedRegion(task, operand, second, kind);
}

/// Returns true if an out of `first` remains an out of the merged task: a
/// state, or a result with other readers.
bool TaskMerger::isKept(unsigned out) {
  return first.isUpdated(out) ||
         llvm::any_of(first->getResult(out).getUsers(),
                      [&](Operation *user) { return user != second; });
}

void TaskMerger::collectOffsets() {
  for (auto [index, input] : llvm::enumerate(second.getInputs()))
    if (input.getDefiningOp() == first)
      offsets[index] = *getOffsetsInPart(
          first, cast<OpResult>(input).getResultNumber(), second, index, kind);
}

void TaskMerger::collectOperands() {
  for (TaskOp task : {first, second}) {
    for (auto [index, input] : llvm::enumerate(task.getInputs()))
      if (input.getDefiningOp() != first)
        inputs.insert({input, getRegion(task, index)});
    for (auto [index, out] : llvm::enumerate(task.getOuts())) {
      if (task == first && !isKept(index))
        continue;
      if (task.isUpdated(index))
        updates = true;
      else
        fresh.push_back(outs.size());
      outs.push_back({out, getRegion(task, task.getInputs().size() + index)});
    }
  }
}

/// Joins `a.b.gate` and `a.b.up` to `a.b.gate+up`.
static std::string joinNames(StringRef first, StringRef second) {
  size_t common = 0;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i] != second[i])
      break;
    if (first[i] == '.')
      common = i + 1;
  }
  return (first + "+" + second.drop_front(common)).str();
}

static ArrayAttr joinOps(Builder &builder, TaskOp first, TaskOp second) {
  SmallVector<Attribute> ops;
  for (TaskOp task : {first, second})
    if (ArrayAttr names = task.getOpsAttr())
      llvm::append_range(ops, names);
  return builder.getArrayAttr(ops);
}

TaskOp TaskMerger::createTask() {
  SmallVector<Value> inputValues, outValues;
  SmallVector<Attribute> inputRegions, outRegions;
  SmallVector<Type> results;
  for (auto [value, region] : inputs) {
    inputValues.push_back(value);
    inputRegions.push_back(region);
  }
  for (auto [value, region] : outs) {
    outValues.push_back(value);
    outRegions.push_back(region);
    results.push_back(value.getType());
  }
  // The location of `second` comes first, since errors report the first
  // location.
  Location loc = rewriter.getFusedLoc({second.getLoc(), first.getLoc()});
  auto task = TaskOp::create(
      rewriter, loc, results,
      rewriter.getStringAttr(joinNames(first.getName(), second.getName())),
      second.getGridAttr(), inputValues, outValues,
      rewriter.getArrayAttr(inputRegions), rewriter.getArrayAttr(outRegions),
      second.getWarpsAttr(), second.getSharedMemoryAttr(),
      joinOps(rewriter, first, second), second.getPlanAttr(),
      updates ? rewriter.getUnitAttr() : UnitAttr(),
      updates && !fresh.empty() ? rewriter.getDenseI64ArrayAttr(fresh)
                                : DenseI64ArrayAttr());
  Block &body = task.getBody().emplaceBlock();
  for (size_t i = 0; i < task.getGrid().size(); ++i)
    body.addArgument(rewriter.getIndexType(), loc);
  for (auto [value, region] : inputs)
    addTile(body, cast<RankedTensorType>(value.getType()), region,
            task.getGrid(), value.getLoc());
  for (auto [value, region] : outs)
    addTile(body, cast<RankedTensorType>(value.getType()), region,
            task.getGrid(), value.getLoc());
  return task;
}

//===----------------------------------------------------------------------===//
// Merged body
//===----------------------------------------------------------------------===//

/// Creates the temporary that replaces the tile of a removed out of `first`. It
/// has the extents of the tile, which may be clipped.
Value TaskMerger::createTemporary(unsigned out) {
  auto tile = cast<RankedTensorType>(first.getOutTiles()[out].getType());
  auto whole = cast<RankedTensorType>(first.getOuts()[out].getType());
  RegionAttr region = getRegion(first, first.getInputs().size() + out);
  Location loc = first.getLoc();
  SmallVector<Value> extents;
  for (int64_t dim = 0; dim < tile.getRank(); ++dim) {
    if (!tile.isDynamicDim(dim))
      continue;
    AffineExpr offset = region.getOffsets().getResult(dim);
    AffineExpr size = rewriter.getAffineConstantExpr(region.getSizes()[dim]);
    AffineExpr rest =
        rewriter.getAffineConstantExpr(whole.getDimSize(dim)) - offset;
    AffineMap map = AffineMap::get(merged.getGrid().size(), 0, {size, rest},
                                   rewriter.getContext());
    extents.push_back(affine::AffineMinOp::create(rewriter, loc, map,
                                                  merged.getGridIndices()));
  }
  return tensor::EmptyOp::create(rewriter, loc, tile, extents);
}

/// Returns the slice of a value of `first` that `second` reads as `input`.
Value TaskMerger::getPart(Value made, unsigned input) {
  auto part = cast<RankedTensorType>(second.getInputTiles()[input].getType());
  if (made.getType() == part)
    return made;
  Location loc = second.getLoc();
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), part.getShape());
  for (int64_t dim = 0; dim < part.getRank(); ++dim)
    if (part.isDynamicDim(dim))
      sizes[dim] = tensor::getMixedSize(rewriter, loc, made, dim);
  return tensor::ExtractSliceOp::create(
      rewriter, loc, part, made,
      getAsIndexOpFoldResult(rewriter.getContext(), offsets[input]), sizes,
      SmallVector<OpFoldResult>(part.getRank(), rewriter.getIndexAttr(1)));
}

/// Moves a body to the end of the merged body. Returns the yielded values.
SmallVector<Value> TaskMerger::inlineBody(TaskOp from, ValueRange arguments) {
  Block &body = merged.getBody().front();
  Block &block = from.getBody().front();
  Operation *yield = block.getTerminator();
  rewriter.inlineBlockBefore(&block, &body, body.end(), arguments);
  SmallVector<Value> yielded(yield->getOperands());
  rewriter.eraseOp(yield);
  return yielded;
}

void TaskMerger::inlineBodies() {
  rewriter.setInsertionPointToEnd(&merged.getBody().front());
  auto getInput = [&](Value value, RegionAttr region) -> Value {
    auto it = llvm::find(inputs, TensorRegion(value, region));
    return merged.getInputTiles()[it - inputs.begin()];
  };
  unsigned nextOut = 0;

  SmallVector<Value> arguments;
  if (kind == MergeKind::Pairwise)
    llvm::append_range(arguments, merged.getGridIndices());
  else if (first.getNumVCTAs() == 1)
    arguments.assign(first.getGrid().size(), arith::ConstantIndexOp::create(
                                                 rewriter, first.getLoc(), 0));
  else
    llvm::append_range(
        arguments, merged.getGridIndices().take_front(first.getGrid().size()));
  for (auto [index, input] : llvm::enumerate(first.getInputs()))
    arguments.push_back(getInput(input, getRegion(first, index)));
  SmallVector<bool> kept;
  for (unsigned out = 0; out < first.getOuts().size(); ++out) {
    kept.push_back(isKept(out));
    arguments.push_back(kept[out] ? merged.getOutTiles()[nextOut++]
                                  : createTemporary(out));
  }
  SmallVector<Value> made = inlineBody(first, arguments);

  arguments.assign(merged.getGridIndices().begin(),
                   merged.getGridIndices().end());
  for (auto [index, input] : llvm::enumerate(second.getInputs()))
    arguments.push_back(
        input.getDefiningOp() == first
            ? getPart(made[cast<OpResult>(input).getResultNumber()], index)
            : getInput(input, getRegion(second, index)));
  for (unsigned out = 0; out < second.getOuts().size(); ++out)
    arguments.push_back(merged.getOutTiles()[nextOut++]);
  SmallVector<Value> results;
  for (auto [value, keep] : llvm::zip(made, kept))
    if (keep)
      results.push_back(value);
  llvm::append_range(results, inlineBody(second, arguments));
  rewriter.setInsertionPointToEnd(&merged.getBody().front());
  YieldOp::create(rewriter, merged.getLoc(), results);
}

void TaskMerger::replaceResults() {
  unsigned next = 0;
  SmallVector<unsigned> kept;
  for (unsigned out = 0; out < first.getNumResults(); ++out)
    if (isKept(out))
      kept.push_back(out);
  for (unsigned out : kept)
    rewriter.replaceAllUsesWith(first->getResult(out),
                                merged->getResult(next++));
  for (Value result : second->getResults())
    rewriter.replaceAllUsesWith(result, merged->getResult(next++));
}

TaskOp TaskMerger::run() {
  rewriter.setInsertionPoint(second);
  collectOffsets();
  collectOperands();
  merged = createTask();
  inlineBodies();
  replaceResults();
  SmallVector<Operation *> destinations;
  for (Value out : first.getOuts())
    if (Operation *op = out.getDefiningOp<tensor::EmptyOp>())
      destinations.push_back(op);
  rewriter.eraseOp(second);
  rewriter.eraseOp(first);
  for (Operation *op : destinations)
    if (op->use_empty())
      rewriter.eraseOp(op);
  return merged;
}

TaskOp ark::mergeTasks(RewriterBase &rewriter, TaskOp first, TaskOp second,
                       MergeKind kind) {
  TaskOp merged = TaskMerger(rewriter, first, second, kind).run();
  // CSE removes computations that both bodies contain. Each accumulator keeps
  // its own memory.
  DominanceInfo dominance(merged);
  eliminateCommonSubExpressions(rewriter, dominance, merged);
  Block &body = merged.getBody().front();
  // A body that only forwards its input leaves its destination unused.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  unshareInits(rewriter, body);
  return merged;
}
