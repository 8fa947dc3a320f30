//===- TileAttention.cpp - Tiles of an attention --------------------------===//

#include "passes/tiling/tasks/TileAttention.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;
using tensor::InsertSliceOp;

/// Creates an op with other operands and maps. Moves no region.
static OnlineAttentionOp createLike(OpBuilder &builder, OnlineAttentionOp op,
                                    ValueRange operands, ArrayAttr maps) {
  OperationState state(
      op.getLoc(), op->getName(), operands,
      operands.take_back(OnlineAttentionOp::kNumOuts).getTypes(),
      op->getAttrs());
  state.addRegion();
  auto created = cast<OnlineAttentionOp>(builder.create(state));
  created.setIndexingMapsAttr(maps);
  return created;
}

//===----------------------------------------------------------------------===//
// Tiling
//===----------------------------------------------------------------------===//

/// Adds the offsets of a tile to the indices of the region.
static void offsetIndices(OpBuilder &builder, OnlineAttentionOp op,
                          ArrayRef<OpFoldResult> offsets) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getScoreBlock());
  AffineExpr sum =
      builder.getAffineSymbolExpr(0) + builder.getAffineSymbolExpr(1);
  for (auto [index, offset] : llvm::zip(op.getIndices(), offsets)) {
    if (isConstantIntValue(offset, 0) || index.use_empty())
      continue;
    auto shifted = affine::AffineApplyOp::create(
        builder, op.getLoc(), AffineMap::get(0, 2, sum),
        ValueRange{index, getValueOrCreateConstantIndexOp(builder, op.getLoc(),
                                                          offset)});
    index.replaceAllUsesExcept(shifted, shifted);
  }
}

/// Returns the number of keys that the queries of a tile may attend to. With a
/// causal mask, query `q` attends to the keys up to `q + keys - queries`.
static OpFoldResult limitKeys(OpBuilder &builder, OnlineAttentionOp op,
                              ArrayRef<OpFoldResult> offsets,
                              ArrayRef<OpFoldResult> sizes) {
  OpFoldResult keys = sizes[op.getKeyLoop()];
  if (!op.getCausal())
    return keys;
  unsigned queryLoop = op.getNumRowLoops() - 1;
  int64_t queries = op.getStaticLoopRanges()[queryLoop];
  // The last query attends to all keys.
  if (getConstantIntValue(sizes[queryLoop]) == queries)
    return keys;
  AffineExpr offset = builder.getAffineSymbolExpr(0),
             size = builder.getAffineSymbolExpr(1),
             all = builder.getAffineSymbolExpr(2), end = offset + size;
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> operands = {offsets[queryLoop], sizes[queryLoop],
                                        keys};
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

namespace {
/// Tiles divide the rows and the columns. Each has all keys that its rows may
/// attend to.
struct AttentionTiling
    : TilingInterface::ExternalModel<AttentionTiling, OnlineAttentionOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *self) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<utils::IteratorType> types(op.getNumLoops(),
                                           utils::IteratorType::parallel);
    types[op.getKeyLoop()] = utils::IteratorType::reduction;
    types[op.getDepthLoop()] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *self,
                                        OpBuilder &builder) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<Range> domain(
        op.getNumLoops(),
        Range{builder.getIndexAttr(0), {}, builder.getIndexAttr(1)});
    // The outs of rows, keys and columns, and the query with its depth.
    for (OpOperand *operand : {op.getDpsInitOperand(0), op.getDpsInitOperand(3),
                               &op.getQueryMutable()})
      for (auto [dim, expr] : llvm::enumerate(op.getMap(*operand).getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          domain[loop.getPosition()].size =
              tensor::getMixedSize(builder, op.getLoc(), operand->get(), dim);
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *self, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> allSizes) const {
    auto op = cast<OnlineAttentionOp>(self);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes(allSizes);
    sizes[op.getKeyLoop()] = limitKeys(builder, op, offsets, sizes);
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
    OnlineAttentionOp tiled =
        createLike(builder, op, operands, op.getIndexingMaps());
    // The extents of the tile's loops are not those of the mask.
    tiled.setCausal(false);
    IRMapping mapping;
    op.getRegion().cloneInto(&tiled.getRegion(), mapping);
    offsetIndices(builder, tiled, offsets);
    result.tiledOps.push_back(tiled);
    llvm::append_range(result.tiledValues, tiled->getResults());
    return result;
  }

  LogicalResult
  getResultTilePosition(Operation *self, OpBuilder &, unsigned resultNumber,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    auto op = cast<OnlineAttentionOp>(self);
    for (AffineExpr expr :
         op.getMap(*op.getDpsInitOperand(resultNumber)).getResults()) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      resultOffsets.push_back(offsets[loop]);
      resultSizes.push_back(sizes[loop]);
    }
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *self, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<OpFoldResult> allOffsets, allSizes;
    for (const Range &range : getIterationDomain(self, builder)) {
      allOffsets.push_back(range.offset);
      allSizes.push_back(range.size);
    }
    AffineMap map = op.getMap(*op.getDpsInitOperand(resultNumber));
    // Scores are memory of the op, not a result.
    if (map.isFunctionOfDim(op.getKeyLoop()))
      return failure();
    for (auto [expr, offset, size] :
         llvm::zip(map.getResults(), offsets, sizes)) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      allOffsets[loop] = offset;
      allSizes[loop] = size;
    }
    FailureOr<TilingResult> result =
        getTiledImplementation(self, builder, allOffsets, allSizes);
    if (succeeded(result))
      result->tiledValues = {result->tiledValues[resultNumber]};
    return result;
  }
};
} // namespace

void ark::registerAttentionTiling(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    OnlineAttentionOp::attachInterface<AttentionTiling>(*context);
  });
}

//===----------------------------------------------------------------------===//
// Row loops of extent one
//===----------------------------------------------------------------------===//

/// Returns the dimensions of an operand that remain without the loops in
/// `dropped`.
static SmallVector<int64_t> getKeptDims(OnlineAttentionOp op,
                                        OpOperand &operand,
                                        const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> kept;
  for (auto [dim, expr] : llvm::enumerate(op.getMap(operand).getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    bool isDropped = isa<AffineConstantExpr>(expr) ||
                     (loop && dropped.test(loop.getPosition()));
    if (!isDropped || op.getShape(&operand)[dim] != 1)
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

void ark::dropRowLoops(RewriterBase &rewriter, OnlineAttentionOp op,
                       ArrayRef<int64_t> loops) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  llvm::SmallBitVector dropped(op.getNumLoops());
  for (int64_t loop : loops)
    if (loop < static_cast<int64_t>(op.getNumRowLoops()) && extents[loop] == 1)
      dropped.set(loop);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  // Maps of the old loops to the new ones.
  SmallVector<AffineExpr> replacements;
  unsigned left = 0;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
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
  OnlineAttentionOp reduced =
      createLike(rewriter, op, operands, rewriter.getAffineMapArrayAttr(maps));
  reduced.setCausal(false);
  reduced.getRegion().takeBody(op.getRegion());
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(reduced.getScoreBlock());
    for (int loop : dropped.set_bits()) {
      BlockArgument index = reduced.getScoreBlock()->getArgument(loop);
      if (!index.use_empty())
        index.replaceAllUsesWith(
            arith::ConstantIndexOp::create(rewriter, loc, 0));
    }
    reduced.getScoreBlock()->eraseArguments([&](BlockArgument argument) {
      return argument.getArgNumber() < dropped.size() &&
             dropped.test(argument.getArgNumber());
    });
  }
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

void ark::copyInsertedResults(RewriterBase &rewriter, OnlineAttentionOp op) {
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
    auto insertion = dyn_cast<InsertSliceOp>(use.getOwner());
    if (!insertion || &use != &insertion.getSourceMutable())
      continue;
    rewriter.setInsertionPoint(insertion);
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, use.get()),
        op.getElementType());
    Value copy =
        linalg::CopyOp::create(rewriter, loc, use.get(), empty).getResult(0);
    rewriter.modifyOpInPlace(insertion, [&] { use.set(copy); });
  }
}
