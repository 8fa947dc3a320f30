//===- TileBodyOps.cpp - Tiles of the ops of bodies -----------------------===//

#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;
using tensor::InsertSliceOp;

/// Creates an op with other operands. Moves no region.
static BodyOpInterface createLike(OpBuilder &builder, BodyOpInterface op,
                                  ValueRange operands) {
  OperationState state(op.getLoc(), op->getName(), operands,
                       operands.take_back(op.getNumDpsInits()).getTypes(),
                       op->getAttrs());
  for (unsigned region = 0; region < op->getNumRegions(); ++region)
    state.addRegion();
  return cast<BodyOpInterface>(builder.create(state));
}

static ArrayRef<int64_t> getShape(OpOperand &operand) {
  return cast<ShapedType>(operand.get().getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TilingResult ark::tileBodyOp(OpBuilder &builder, BodyOpInterface op,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> begins =
      linalg::computeTileOffsets(builder, loc, offsets, sizes);
  SmallVector<OpFoldResult> lasts =
      linalg::computeTileSizes(builder, loc, sizes, {});
  TilingResult result;
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *slice = linalg::makeTiledShape(
        builder, loc, operand.get(), sizes, op.getMap(operand), begins,
        /*ubs=*/{}, lasts, /*omitPartialTileCheck=*/true);
    operands.push_back(slice->getResult(0));
    result.generatedSlices.push_back(slice);
  }
  BodyOpInterface tiled = createLike(builder, op, operands);
  for (auto [from, to] : llvm::zip(op->getRegions(), tiled->getRegions())) {
    IRMapping mapping;
    from.cloneInto(&to, mapping);
  }
  result.tiledOps.push_back(tiled);
  llvm::append_range(result.tiledValues, tiled->getResults());
  return result;
}

void ark::offsetIndices(OpBuilder &builder, Operation *op, ValueRange indices,
                        ArrayRef<OpFoldResult> offsets) {
  OpBuilder::InsertionGuard guard(builder);
  AffineExpr sum =
      builder.getAffineSymbolExpr(0) + builder.getAffineSymbolExpr(1);
  for (auto [index, offset] : llvm::zip(indices, offsets)) {
    if (isConstantIntValue(offset, 0) || index.use_empty())
      continue;
    builder.setInsertionPointToStart(cast<BlockArgument>(index).getOwner());
    auto shifted = affine::AffineApplyOp::create(
        builder, op->getLoc(), AffineMap::get(0, 2, sum),
        ValueRange{index, getValueOrCreateConstantIndexOp(builder, op->getLoc(),
                                                          offset)});
    index.replaceAllUsesExcept(shifted, shifted);
  }
}

SmallVector<Range> ark::getLoopDomain(OpBuilder &builder, BodyOpInterface op,
                                      ArrayRef<OpOperand *> operands) {
  SmallVector<Range> domain(
      op.getMap(*operands.front()).getNumDims(),
      Range{builder.getIndexAttr(0), {}, builder.getIndexAttr(1)});
  for (OpOperand *operand : operands)
    for (auto [dim, expr] : llvm::enumerate(op.getMap(*operand).getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        domain[loop.getPosition()].size =
            tensor::getMixedSize(builder, op.getLoc(), operand->get(), dim);
  return domain;
}

void ark::getResultPosition(BodyOpInterface op, unsigned resultNumber,
                            ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes,
                            SmallVector<OpFoldResult> &resultOffsets,
                            SmallVector<OpFoldResult> &resultSizes) {
  for (AffineExpr expr :
       op.getMap(*op.getDpsInitOperand(resultNumber)).getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    resultOffsets.push_back(offsets[loop]);
    resultSizes.push_back(sizes[loop]);
  }
}

Value ark::sliceColumns(OpBuilder &builder, Value rows, int64_t numColumns,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes) {
  if (isZeroInteger(offsets.back()) &&
      getConstantIntValue(sizes.back()) == numColumns)
    return rows;
  SmallVector<OpFoldResult> starts(offsets.size(), builder.getIndexAttr(0)),
      ones(offsets.size(), builder.getIndexAttr(1));
  starts.back() = offsets.back();
  return ExtractSliceOp::create(builder, rows.getLoc(), rows, starts, sizes,
                                ones);
}

OpFoldResult ark::limitCausalKeys(OpBuilder &builder, Location loc,
                                  OpFoldResult offset, OpFoldResult size,
                                  OpFoldResult keys, int64_t queries) {
  // The last query attends to all keys.
  if (getConstantIntValue(size) == queries)
    return keys;
  AffineExpr begin = builder.getAffineSymbolExpr(0),
             count = builder.getAffineSymbolExpr(1),
             all = builder.getAffineSymbolExpr(2), end = begin + count;
  SmallVector<OpFoldResult> operands = {offset, size, keys};
  std::optional<int64_t> numKeys = getConstantIntValue(keys);
  if (numKeys && *numKeys >= queries)
    return affine::makeComposedFoldedAffineMin(
        builder, loc,
        AffineMap::get(0, 3, {end + (all - queries), all},
                       builder.getContext()),
        operands);
  // With fewer keys than queries, the first queries attend to none. Bodies have
  // no maximum, so that max(end, 0) is -min(-end, 0).
  OpFoldResult excess = affine::makeComposedFoldedAffineMin(
      builder, loc,
      AffineMap::get(
          0, 3,
          {(end + (all - queries)) * -1, builder.getAffineConstantExpr(0)},
          builder.getContext()),
      operands);
  return affine::makeComposedFoldedAffineMin(
      builder, loc,
      AffineMap::get(
          0, 2,
          {builder.getAffineSymbolExpr(0) * -1, builder.getAffineSymbolExpr(1)},
          builder.getContext()),
      {excess, keys});
}

//===----------------------------------------------------------------------===//
// Row loops of extent one
//===----------------------------------------------------------------------===//

/// Returns the dimensions of an operand that remain without the loops in
/// `dropped`.
static SmallVector<int64_t> getKeptDims(BodyOpInterface op, OpOperand &operand,
                                        const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> kept;
  for (auto [dim, expr] : llvm::enumerate(op.getMap(operand).getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    bool isDropped = isa<AffineConstantExpr>(expr) ||
                     (loop && dropped.test(loop.getPosition()));
    if (!isDropped || getShape(operand)[dim] != 1)
      kept.push_back(dim);
  }
  return kept;
}

/// Slices a tensor to its first elements in the dimensions that are not kept.
static Value dropDims(OpBuilder &builder, Location loc, Value tensor,
                      ArrayRef<int64_t> kept) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (static_cast<int64_t>(kept.size()) == type.getRank())
    return tensor;
  SmallVector<OpFoldResult> zeros(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(type.getRank(), builder.getIndexAttr(1));
  SmallVector<int64_t> shape = llvm::map_to_vector(
      kept, [&](int64_t dim) { return type.getDimSize(dim); });
  return ExtractSliceOp::create(builder, loc, type.clone(shape), tensor, zeros,
                                tensor::getMixedSizes(builder, loc, tensor),
                                ones);
}

void ark::dropRowLoops(RewriterBase &rewriter, BodyOpInterface op,
                       ArrayRef<int64_t> loops) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  llvm::SmallBitVector dropped(extents.size());
  for (int64_t loop : loops)
    if (loop < static_cast<int64_t>(op.getNumRowLoops()) && extents[loop] == 1)
      dropped.set(loop);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  // Maps of the old loops to the new ones.
  SmallVector<AffineExpr> replacements;
  unsigned left = 0;
  for (unsigned loop = 0; loop < extents.size(); ++loop)
    replacements.push_back(dropped.test(loop)
                               ? rewriter.getAffineConstantExpr(0)
                               : rewriter.getAffineDimExpr(left++));
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> kept = getKeptDims(op, operand, dropped);
    operands.push_back(dropDims(rewriter, loc, operand.get(), kept));
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : kept)
      exprs.push_back(simplifyAffineExpr(
          op.getMap(operand).getResult(dim).replaceDims(replacements), left,
          0));
    maps.push_back(AffineMap::get(left, 0, exprs, op.getContext()));
  }
  BodyOpInterface reduced = createLike(rewriter, op, operands);
  reduced.setMaps(maps);
  for (auto [from, to] : llvm::zip(op->getRegions(), reduced->getRegions()))
    to.takeBody(from);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  reduced.dropRowIndices(zero, dropped);
  SmallVector<Value> results;
  for (auto [result, out] :
       llvm::zip(reduced->getResults(), op.getDpsInits())) {
    if (result.getType() == out.getType()) {
      results.push_back(result);
      continue;
    }
    int64_t rank = cast<RankedTensorType>(out.getType()).getRank();
    SmallVector<OpFoldResult> zeros(rank, rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> ones(rank, rewriter.getIndexAttr(1));
    results.push_back(
        InsertSliceOp::create(rewriter, loc, result, out, zeros,
                              tensor::getMixedSizes(rewriter, loc, out), ones));
  }
  rewriter.replaceOp(op, results);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void ark::copyInsertedResults(RewriterBase &rewriter, BodyOpInterface op) {
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
    auto insertion = dyn_cast<InsertSliceOp>(use.getOwner());
    if (!insertion || &use != &insertion.getSourceMutable())
      continue;
    rewriter.setInsertionPoint(insertion);
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, use.get()),
        getElementTypeOrSelf(use.get()));
    Value copy =
        linalg::CopyOp::create(rewriter, loc, use.get(), empty).getResult(0);
    rewriter.modifyOpInPlace(insertion, [&] { use.set(copy); });
  }
}
