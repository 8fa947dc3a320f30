//===- BodyCost.cpp - Work of one unclipped vCTA --------------------------===//

#include "lib/analysis/BodyCost.h"
#include "lib/analysis/ConvolutionTiles.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/BufferView.h"
#include "lib/support/QuantizedProducts.h"
#include "lib/support/RowConvolution.h"
#include "lib/support/Streaming.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ark;

/// Number of floating-point operations that the model assigns to one op of the
/// `math` dialect.
static constexpr int64_t kFlopsOfFunction = 8;

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Returns the dimension of the source that a dimension of a subview shows. The
/// body drops dimensions of extent one.
static unsigned getSourceDim(memref::SubViewOp subview, unsigned dim) {
  llvm::SmallBitVector dropped = subview.getDroppedDims();
  unsigned source = 0;
  while (dropped[source] || dim-- > 0)
    ++source;
  return source;
}

/// Returns the extent of a buffer in the body, or an upper bound of the extent,
/// or nothing if neither is known.
static std::optional<int64_t> getExtent(TaskOp task, Value buffer,
                                        unsigned dim) {
  auto type = cast<ShapedType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    if (argument.getOwner() != &task.getBody().front() ||
        argument.getArgNumber() < task.getGrid().size())
      return std::nullopt;
    return task.getRegion(argument.getArgNumber() - task.getGrid().size())
        .getSizes()[dim];
  }
  if (auto subview = buffer.getDefiningOp<memref::SubViewOp>())
    return getExtent(task, subview.getSource(), getSourceDim(subview, dim));
  return std::nullopt;
}

/// Returns the loop extents of a structured op. A loop of unknown extent counts
/// once.
static SmallVector<int64_t> getLoopExtents(TaskOp task,
                                           IndexingMapOpInterface op) {
  AffineMap any = op.getMatchingIndexingMap(&op->getOpOperand(0));
  SmallVector<int64_t> extents(any.getNumDims(), 1);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<ShapedType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        if (std::optional<int64_t> extent = getExtent(task, operand.get(), dim))
          extents[loop.getPosition()] = *extent;
  }
  return extents;
}

/// Returns the product of some loop extents.
static int64_t multiply(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count = llvm::SaturatingMultiply<uint64_t>(count, extent);
  return count;
}

/// Returns the product of the extents of some loops.
static int64_t multiply(ArrayRef<int64_t> extents, ArrayRef<unsigned> loops) {
  return multiply(
      llvm::map_to_vector(loops, [&](unsigned loop) { return extents[loop]; }));
}

/// Returns the number of executions of an op: the product of the trip counts of
/// the loops around it. A loop of unknown trip count counts once, or as often
/// as its attribute states.
static int64_t countExecutions(TaskOp task, Operation *op) {
  int64_t count = 1;
  double share = 1;
  for (Region *region = op->getParentRegion();
       region && region->getParentOp() != task;
       region = region->getParentRegion()) {
    Operation *parent = region->getParentOp();
    int64_t trips = 1;
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      std::optional<APInt> constant = loop.getStaticTripCount();
      if (constant)
        trips = constant->getSExtValue();
      else if (auto mean = loop->getAttrOfType<FloatAttr>(kMeanTripsAttr))
        share *= mean.getValueAsDouble();
    } else if (auto structured = dyn_cast<linalg::LinalgOp>(parent)) {
      trips = multiply(getLoopExtents(task, structured));
    } else if (auto bodyOp = dyn_cast<BodyOpInterface>(parent)) {
      trips = bodyOp.countRuns(
          *region, getLoopExtents(task, cast<IndexingMapOpInterface>(parent)));
    }
    count =
        llvm::SaturatingMultiply<uint64_t>(count, std::max<int64_t>(trips, 1));
  }
  constexpr double kMost = int64_t(1) << 60;
  return share == 1 ? count
                    : static_cast<int64_t>(
                          std::ceil(std::min(kMost, share * double(count))));
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// Returns the floating-point operations of an op of a body, for all of its
/// executions.
static uint64_t countFlops(TaskOp task, Operation *op) {
  int64_t each = 0;
  if (auto bodyOp = dyn_cast<BodyOpInterface>(op)) {
    each = bodyOp.countFlops(
        getLoopExtents(task, cast<IndexingMapOpInterface>(op)),
        kFlopsOfFunction);
  } else if (op->getNumResults() == 1 && !isa<arith::ConstantOp>(op) &&
             isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()))) {
    StringRef dialect = op->getName().getDialectNamespace();
    each = dialect == "math" ? kFlopsOfFunction : dialect == "arith" ? 1 : 0;
  }
  return each == 0 ? 0
                   : llvm::SaturatingMultiply<uint64_t>(
                         each, countExecutions(task, op));
}

int64_t mlir::ark::countBodyFlops(TaskOp task) {
  uint64_t flops = 0;
  task.getBody().walk([&](Operation *op) {
    flops = llvm::SaturatingAdd<uint64_t>(flops, countFlops(task, op));
  });
  return std::min<uint64_t>(flops, int64_t(1) << 60);
}

int64_t mlir::ark::countTouchedBytes(TaskOp task, unsigned operand) {
  auto type = cast<ShapedType>(task.getOperand(operand).getType());
  RegionAttr region = task.getRegion(operand);
  int64_t elementBytes = getElementBytes(type.getElementType());
  int64_t whole = elementBytes;
  for (auto [size, extent] : llvm::zip(region.getSizes(), type.getShape()))
    whole = llvm::SaturatingMultiply<uint64_t>(whole, std::min(size, extent));

  BlockArgument tile =
      task.getBody().getArgument(task.getGrid().size() + operand);
  // An unused input only orders the task after the producer of the input, and
  // is not read. If the body was left out, all operands count as used.
  bool isInput = operand < task.getInputs().size();
  bool isLeftOut = llvm::hasSingleElement(task.getBody().front());
  if (tile.use_empty())
    return isInput && !isLeftOut ? 0 : whole;
  uint64_t touched = 0;
  for (Operation *user : tile.getUsers()) {
    int64_t bytes = elementBytes;
    if (auto subview = dyn_cast<memref::SubViewOp>(user)) {
      // A subview at constant offsets does not depend on data.
      if (llvm::all_of(subview.getMixedOffsets(), [](OpFoldResult offset) {
            return getConstantIntValue(offset).has_value();
          }))
        return whole;
      for (auto [dim, size] : llvm::enumerate(subview.getStaticSizes()))
        bytes = llvm::SaturatingMultiply<uint64_t>(
            bytes, ShapedType::isDynamic(size) ? region.getSizes()[dim] : size);
    } else if (!isa<memref::LoadOp, memref::StoreOp>(user)) {
      return whole;
    }
    touched = llvm::SaturatingAdd<uint64_t>(
        touched,
        llvm::SaturatingMultiply<uint64_t>(bytes, countExecutions(task, user)));
  }
  return std::min<uint64_t>(whole, touched);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns true for an operand of the task, or a part of it.
static bool isTile(TaskOp task, Value buffer) {
  while (auto subview = buffer.getDefiningOp<memref::SubViewOp>())
    buffer = subview.getSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument && argument.getOwner() == &task.getBody().front();
}

/// Returns the sizes of the product of two tiles in memory, or nothing for
/// other ops, and for elements that matrix units do not read.
static std::optional<ProductSizes>
getTileSizes(TaskOp task, linalg::LinalgOp op, TargetAttr target) {
  if (!linalg::isaContractionOpInterface(op) || op->getParentOp() != task ||
      !isTile(task, op->getOperand(0)) || !isTile(task, op->getOperand(1)))
    return std::nullopt;
  auto dims = linalg::inferContractionDims(op);
  Type type = getElementTypeOrSelf(op->getOperand(0));
  bool isSplit = type.isF32();
  bool isNarrow = hasNarrowStages(target, type);
  if (failed(dims) || !(isSplit || isNarrow || type.isBF16() || type.isF16()) ||
      getElementTypeOrSelf(op->getOperand(1)) != type)
    return std::nullopt;
  SmallVector<int64_t> extents =
      getLoopExtents(task, cast<IndexingMapOpInterface>(op.getOperation()));
  return ProductSizes{multiply(extents, dims->batch),
                      multiply(extents, dims->m), multiply(extents, dims->n),
                      multiply(extents, dims->k) / (isNarrow ? 2 : 1),
                      isSplit ? kF32Terms : 1};
}

/// Predicts the time of one product of a body.
static std::optional<double>
predictProductNs(TargetAttr target, std::optional<ProductSizes> sizes) {
  if (!sizes || sizes->batches != 1 || sizes->rows <= kStreamingRows)
    return std::nullopt;
  // The last warpgroup of a tile may have fewer rows.
  MmaAttr mma = target.getGpu().findSharedMemoryMma();
  int64_t rows = llvm::alignTo(sizes->rows, mma ? mma.getM() : 1);
  if (!isListedTile(target, rows, sizes->columns, sizes->depth))
    return std::nullopt;
  return predictTileNs(target, *sizes, rows, sizes->columns);
}

/// Returns the convolution of a body, or nothing for other ops, products of
/// matrices among them.
static std::optional<RowConvolution> matchConvolution(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) ? std::nullopt
                                               : RowConvolution::match(op);
}

/// Predicts the time of one convolution of a body, whose operands are tiles in
/// memory.
static std::optional<double> predictConvolutionNs(TaskOp task,
                                                  TargetAttr target,
                                                  linalg::LinalgOp op,
                                                  const RowConvolution &found) {
  Type type = getElementTypeOrSelf(op->getOperand(0));
  if (op->getParentOp() != task || !isTile(task, op->getOperand(0)) ||
      !isTile(task, op->getOperand(1)) || !(type.isBF16() || type.isF16()) ||
      getElementTypeOrSelf(op->getOperand(1)) != type)
    return std::nullopt;
  SmallVector<int64_t> extents =
      getLoopExtents(task, cast<IndexingMapOpInterface>(op.getOperation()));
  AffineMap filters = op.getIndexingMapsArray().front();
  int64_t features =
      extents[cast<AffineDimExpr>(filters.getResult(0)).getPosition()];
  return predictConvolutionTileNs(
      target, {1, features, found.rows, found.columns, found.getDepth()},
      features, found.rows, found.columns);
}

std::optional<double> mlir::ark::predictProductsNs(TaskOp task,
                                                   TargetAttr target) {
  if (!target.isGpu() || !target.getGpu().getMatrixTiles())
    return std::nullopt;
  double ns = 0;
  WalkResult result = task.getBody().walk([&](linalg::LinalgOp op) {
    std::optional<RowConvolution> convolution = matchConvolution(op);
    if (!convolution && !linalg::isaContractionOpInterface(op))
      return WalkResult::advance();
    std::optional<double> one =
        convolution ? predictConvolutionNs(task, target, op, *convolution)
                    : predictProductNs(target, getTileSizes(task, op, target));
    // A CTA computes the products of a body one after the other, and has one
    // prologue and one epilogue.
    double repeated = ns > 0 ? target.getGpu().getMatrixTiles().getTile() : 0;
    ns += one ? *one - repeated : 0;
    return one ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted() || ns == 0 ? std::nullopt : std::optional(ns);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

// The following constants are fitted to 70 kinds of tasks in two traced
// training steps (benchmarks/results/2026-11-29-h200-costs-of-tasks.md).

/// Floating-point operations that the threads of an SM execute in a ns.
static constexpr double kThreadFlopsPerNs = 120;
/// The latency of a pass over the data in ns: its first loads and its barrier.
static constexpr double kPassNs = 500;
/// The least time of an iteration of a loop that all threads execute together.
static constexpr double kIterationNs = 30;
/// The passes of a norm are its two reductions.
static constexpr int64_t kPassesOfNorm = 2;
/// The share of the peak rate of matrix units that warps reach in products with
/// an operand that the body computes, and that warps and warpgroups reach in an
/// attention. The operations of an attention include masked scores.
static constexpr double kShareOfWarps = 0.25, kShareOfWarpAttention = 0.4,
                        kShareOfWarpgroupAttention = 0.8;
/// Lower bound of the rows of an attention by warpgroups.
static constexpr int64_t kWarpgroupRows = 193;

/// Returns true for a product of two matrices. Sums of products of elements are
/// contractions as well, and matrix units do not compute them.
static bool isMatrixProduct(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured || !linalg::isaContractionOpInterface(structured))
    return false;
  auto dims = linalg::inferContractionDims(structured);
  return succeeded(dims) && !dims->m.empty() && !dims->n.empty();
}

static bool isConvolution(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && matchConvolution(structured);
}

/// Returns true if a product reads an operand that the body computes.
static bool readsTemporary(TaskOp task, Operation *product) {
  return !isTile(task, product->getOperand(0)) ||
         !isTile(task, product->getOperand(1));
}

/// Returns true for an attention or its gradient.
static bool isAttention(Operation *op) {
  auto bodyOp = dyn_cast<BodyOpInterface>(op);
  return bodyOp && bodyOp.multipliesMatrices();
}

static int64_t countAttentionRows(TaskOp task, Operation *op) {
  SmallVector<int64_t> extents =
      getLoopExtents(task, cast<IndexingMapOpInterface>(op));
  return multiply(
      ArrayRef(extents).take_front(cast<BodyOpInterface>(op).getNumRowLoops()));
}

static double getShareOfAttention(TaskOp task, Operation *op) {
  return countAttentionRows(task, op) >= kWarpgroupRows
             ? kShareOfWarpgroupAttention
             : kShareOfWarpAttention;
}

/// Returns true for a product or an attention of so few rows that it streams
/// weights or keys. The latency of threads is hidden by copies for the next
/// work items.
static bool isStreamed(TaskOp task, Operation *op) {
  if (isAttention(op))
    return countAttentionRows(task, op) <= kStreamingRows;
  if (matchQuantizedProduct(op))
    return getLoopExtents(task, cast<IndexingMapOpInterface>(op)).front() <=
           kStreamingRows;
  if (!isMatrixProduct(op))
    return false;
  SmallVector<int64_t> extents =
      getLoopExtents(task, cast<IndexingMapOpInterface>(op));
  auto dims = linalg::inferContractionDims(cast<linalg::LinalgOp>(op));
  return multiply(extents, dims->m) <= kStreamingRows;
}

/// Returns the iterations of a loop that follow one another. Threads divide the
/// elements of a structured op, and each thread executes the loops inside.
static int64_t countIterations(TaskOp task, TargetAttr target,
                               scf::ForOp loop) {
  int64_t all = countExecutions(task, loop.getBody()->getTerminator());
  if (!loop->getParentOfType<linalg::LinalgOp>())
    return all;
  int64_t threads = target.getWarps() * target.getWarpSize();
  std::optional<APInt> own = loop.getStaticTripCount();
  return std::max<int64_t>(llvm::divideCeil(all, threads),
                           own ? own->getSExtValue() : 1);
}

std::optional<ThreadTimes>
mlir::ark::predictThreads(TaskOp task, TargetAttr target, int64_t ranks) {
  if (!target.isGpu() || llvm::hasSingleElement(task.getBody().front()))
    return std::nullopt;
  double perSm = double(target.getFlops()) / target.getSms();
  ThreadTimes times;
  // Ops that are neither reductions nor products are fused into the first pass.
  // Between ranks, the time of a hand-off includes the first loads.
  int64_t passes = ranks == 1 ? 1 : 0;
  // Threads compute a convolution if matrix units have no such tile.
  bool usesMatrixUnits = predictProductsNs(task, target).has_value();
  WalkResult result = task.getBody().walk([&](Operation *op) {
    if (isStreamed(task, op))
      return WalkResult::interrupt();
    double flops = countFlops(task, op);
    if (isa<BodyOpInterface>(op) && !isAttention(op))
      passes += kPassesOfNorm;
    else if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      passes += structured.getNumReductionLoops() > 0;
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      times.latency += kIterationNs * countIterations(task, target, loop);
    if (isAttention(op))
      times.products += flops / (perSm * getShareOfAttention(task, op));
    else if (!isMatrixProduct(op->getParentOp()))
      times.arithmetic += usesMatrixUnits && isConvolution(op->getParentOp())
                              ? 0
                              : flops / kThreadFlopsPerNs;
    else if (readsTemporary(task, op->getParentOp()))
      times.products += flops / (perSm * kShareOfWarps);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  times.latency += passes * kPassNs;
  return times;
}
