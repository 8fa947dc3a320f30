//===- FuseProducers.cpp - Fuse the producers of a tile into its task -----===//

#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;
using tensor::InsertSliceOp;

static bool isInside(Operation *op, TaskOp task) {
  return task->isProperAncestor(op);
}

/// Casts a slice of a value to the type of a slice of another value.
static Value castTo(RewriterBase &rewriter, Location loc, Value value,
                    Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(rewriter, loc, type, value);
}

//===----------------------------------------------------------------------===//
// Slices of ops without TilingInterface
//===----------------------------------------------------------------------===//

/// Composes a slice of a slice into one slice.
static Value sliceOfSlice(RewriterBase &rewriter, ExtractSliceOp slice,
                          ExtractSliceOp producer) {
  Location loc = slice.getLoc();
  AffineExpr outer = rewriter.getAffineSymbolExpr(0),
             inner = rewriter.getAffineSymbolExpr(1),
             stride = rewriter.getAffineSymbolExpr(2);
  AffineMap offsetMap = AffineMap::get(0, 3, outer + inner * stride);
  AffineMap strideMap = AffineMap::get(0, 2, outer * inner);
  SmallVector<OpFoldResult> offsets, strides;
  for (auto [outerOffset, outerStride, innerOffset, innerStride] :
       llvm::zip(producer.getMixedOffsets(), producer.getMixedStrides(),
                 slice.getMixedOffsets(), slice.getMixedStrides())) {
    offsets.push_back(affine::makeComposedFoldedAffineApply(
        rewriter, loc, offsetMap, {outerOffset, innerOffset, outerStride}));
    strides.push_back(affine::makeComposedFoldedAffineApply(
        rewriter, loc, strideMap, {outerStride, innerStride}));
  }
  return ExtractSliceOp::create(rewriter, loc, slice.getType(),
                                producer.getSource(), offsets,
                                slice.getMixedSizes(), strides);
}

/// Returns a tile of an insertion's result. In every dimension, the inserted
/// part or the tile must cover the whole extent.
static FailureOr<Value> sliceOfInsertion(RewriterBase &rewriter,
                                         ExtractSliceOp slice,
                                         InsertSliceOp producer) {
  Location loc = slice.getLoc();
  ArrayRef<int64_t> shape = producer.getType().getShape();
  SmallVector<OpFoldResult> sourceOffsets, sourceSizes, insertOffsets;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t extent = shape[dim];
    OpFoldResult offset = producer.getMixedOffsets()[dim];
    OpFoldResult size = producer.getMixedSizes()[dim];
    OpFoldResult tileOffset = slice.getMixedOffsets()[dim];
    OpFoldResult tileSize = slice.getMixedSizes()[dim];
    auto covers = [&](OpFoldResult start, OpFoldResult length) {
      return isConstantIntValue(start, 0) && isConstantIntValue(length, extent);
    };
    if (covers(offset, size)) {
      sourceOffsets.push_back(tileOffset);
      sourceSizes.push_back(tileSize);
      insertOffsets.push_back(rewriter.getIndexAttr(0));
    } else if (covers(tileOffset, tileSize)) {
      sourceOffsets.push_back(rewriter.getIndexAttr(0));
      sourceSizes.push_back(size);
      insertOffsets.push_back(offset);
    } else {
      return failure();
    }
  }
  SmallVector<OpFoldResult> ones(shape.size(), rewriter.getIndexAttr(1));
  Value source = ExtractSliceOp::create(rewriter, loc, producer.getSource(),
                                        sourceOffsets, sourceSizes, ones);
  Value dest = ExtractSliceOp::create(rewriter, loc, producer.getDest(),
                                      slice.getMixedOffsets(),
                                      slice.getMixedSizes(), ones);
  return Value(InsertSliceOp::create(rewriter, loc, source, dest, insertOffsets,
                                     sourceSizes, producer.getMixedStrides()));
}

/// Replaces a strided slice by a strided slice of a dense slice, because
/// structured ops compute dense tiles. The skipped elements are computed as
/// well, and other readers may read them.
static void coverStrides(RewriterBase &rewriter, ExtractSliceOp slice) {
  if (slice.hasUnitStride())
    return;
  Location loc = slice.getLoc();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  SmallVector<OpFoldResult> inner(offsets.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(offsets.size(), rewriter.getIndexAttr(1));
  for (size_t dim = 0; dim < offsets.size(); ++dim) {
    if (isConstantIntValue(slice.getMixedStrides()[dim], 1))
      continue;
    inner[dim] = offsets[dim];
    offsets[dim] = rewriter.getIndexAttr(0);
    sizes[dim] = rewriter.getIndexAttr(slice.getSourceType().getDimSize(dim));
  }
  auto cover = ExtractSliceOp::create(rewriter, loc, slice.getSource(), offsets,
                                      sizes, ones);
  rewriter.replaceOpWithNewOp<ExtractSliceOp>(slice, slice.getType(), cover,
                                              inner, slice.getMixedSizes(),
                                              slice.getMixedStrides());
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Returns an extent of a tensor that structured ops computed, derived from the
/// origin of its memory.
static OpFoldResult getExtent(OpBuilder &builder, Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return builder.getIndexAttr(type.getDimSize(dim));
  Operation *op = tensor.getDefiningOp();
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return empty.getMixedSizes()[dim];
  if (auto slice = dyn_cast_or_null<ExtractSliceOp>(op))
    return slice.getMixedSizes()[dim];
  if (auto insertion = dyn_cast_or_null<InsertSliceOp>(op))
    return getExtent(builder, insertion.getDest(), dim);
  if (auto style = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return getExtent(
        builder, style.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
  return {};
}

/// Replaces tensor.dim ops, which tiling creates for whole tensors, by existing
/// values. Otherwise the whole tensors would be pulled into the task for their
/// extents.
static void resolveExtents(RewriterBase &rewriter, TaskOp task) {
  for (auto dim :
       llvm::make_early_inc_range(task.getBody().getOps<tensor::DimOp>())) {
    std::optional<int64_t> position = dim.getConstantIndex();
    if (!position)
      continue;
    OpFoldResult extent = getExtent(rewriter, dim.getSource(), *position);
    if (!extent)
      continue;
    rewriter.setInsertionPoint(dim);
    rewriter.replaceOp(
        dim, getValueOrCreateConstantIndexOp(rewriter, dim.getLoc(), extent));
  }
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

/// Computes the slice of a result of `producer` separately. Fails if that is
/// not possible.
static FailureOr<Value> computeSlice(RewriterBase &rewriter,
                                     ExtractSliceOp slice,
                                     Operation *producer) {
  if (auto inner = dyn_cast<ExtractSliceOp>(producer))
    return sliceOfSlice(rewriter, slice, inner);
  if (auto insertion = dyn_cast<InsertSliceOp>(producer))
    return sliceOfInsertion(rewriter, slice, insertion);
  if (auto empty = dyn_cast<tensor::EmptyOp>(producer))
    return Value(tensor::EmptyOp::create(rewriter, slice.getLoc(),
                                         slice.getMixedSizes(),
                                         empty.getType().getElementType()));
  if (auto threshold = dyn_cast<TopThresholdOp>(producer))
    return findThreshold(rewriter, slice, threshold);
  if (auto gather = dyn_cast<GatherOp>(producer))
    return sliceGatheredMatrix(rewriter, slice, gather);
  if (!isa<TilingInterface>(producer))
    return failure();
  FailureOr<TilingResult> tiled = tensor::replaceExtractSliceWithTiledProducer(
      rewriter, slice, cast<OpResult>(slice.getSource()));
  if (failed(tiled))
    return failure();
  return tiled->tiledValues.front();
}

LogicalResult ark::fuseProducersIntoTask(RewriterBase &rewriter, GroupOp group,
                                         TaskOp task) {
  for (Operation &producer :
       llvm::reverse(group.getBody().front().without_terminator())) {
    // The slice may also lie at an offset that the op computes.
    auto getSlice = [&](Operation *user) {
      auto slice = dyn_cast<ExtractSliceOp>(user);
      return slice && isInside(slice, task) &&
                     slice.getSource().getDefiningOp() == &producer
                 ? slice
                 : ExtractSliceOp();
    };
    if (isa<TilingInterface>(producer))
      for (Operation *user : llvm::make_early_inc_range(producer.getUsers()))
        if (ExtractSliceOp slice = getSlice(user)) {
          rewriter.setInsertionPoint(slice);
          coverStrides(rewriter, slice);
        }
    // Readers of one op often read the same slice. CSE merges equal slices once
    // all readers are present, and the op is then computed once.
    resolveExtents(rewriter, task);
    DominanceInfo dominance(task);
    eliminateCommonSubExpressions(rewriter, dominance, task);
    for (Operation *user : llvm::make_early_inc_range(producer.getUsers())) {
      ExtractSliceOp slice = getSlice(user);
      if (!slice)
        continue;
      rewriter.setInsertionPoint(slice);
      FailureOr<Value> tile = computeSlice(rewriter, slice, &producer);
      if (failed(tile))
        return producer.emitError("'")
               << producer.getName() << "' cannot be cut into tiles of shape "
               << slice.getType() << " in group '" << group.getName() << "'";
      rewriter.replaceOp(
          slice, castTo(rewriter, slice.getLoc(), *tile, slice.getType()));
    }
    // Remaining uses are scalars and tensors that are read as a whole.
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : producer.getUses())
      if (isInside(use.getOwner(), task))
        uses.push_back(&use);
    if (uses.empty())
      continue;
    rewriter.setInsertionPointToStart(&task.getBody().front());
    Operation *clone = rewriter.clone(producer);
    for (OpOperand *use : uses)
      rewriter.modifyOpInPlace(use->getOwner(), [&] {
        use->set(
            clone->getResult(cast<OpResult>(use->get()).getResultNumber()));
      });
  }
  return success();
}
