//===- ArkOnlineAttention.cpp - Attention in the body of a task -----------===//

#include "dialects/ark/ArkBodyOpChecks.h"
#include "dialects/ark/ArkOps.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns a map from `loops` loops to the loops with the indices `results`.
static AffineMap selectLoops(MLIRContext *context, unsigned loops,
                             ArrayRef<unsigned> results) {
  SmallVector<AffineExpr> exprs;
  for (unsigned loop : results)
    exprs.push_back(getAffineDimExpr(loop, context));
  return AffineMap::get(loops, 0, exprs, context);
}

/// online_attention_c1
static LogicalResult verifyMaps(OnlineAttentionOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != op->getNumOperands())
    return op.emitOpError("needs one map for every operand "
                          "(online_attention_c1)");
  unsigned loops = cast<ShapedType>(op.getProduct().getType()).getRank() + 2;
  for (auto [map, type] : llvm::zip(maps, op->getOperandTypes()))
    if (loops < 3 || map.getNumDims() != loops || map.getNumSymbols() != 0 ||
        map.getNumResults() != cast<ShapedType>(type).getRank())
      return op.emitOpError("needs maps from ")
             << loops << " loops to the dimensions of each operand "
             << "(online_attention_c1)";
  return success();
}

/// online_attention_c2
static LogicalResult verifyOutMaps(OnlineAttentionOp op) {
  auto rows = llvm::to_vector(llvm::seq(0u, op.getNumRowLoops()));
  auto withLoop = [&](unsigned loop) {
    SmallVector<unsigned> loops(rows);
    loops.push_back(loop);
    return selectLoops(op.getContext(), op.getNumLoops(), loops);
  };
  AffineMap ofRows = selectLoops(op.getContext(), op.getNumLoops(), rows);
  AffineMap expected[] = {withLoop(op.getColumnLoop()), ofRows, ofRows,
                          withLoop(op.getKeyLoop())};
  for (auto [operand, map] : llvm::zip(op.getDpsInitsMutable(), expected))
    if (op.getMap(operand) != map)
      return op.emitOpError("needs the map ")
             << AffineMapAttr::get(map) << " for out "
             << operand.getOperandNumber() -
                    op.getDpsInitsMutable()[0].getOperandNumber()
             << " (online_attention_c2)";
  return success();
}

/// online_attention_c3
static LogicalResult verifyInputMaps(OnlineAttentionOp op) {
  auto verify = [&](OpOperand &operand, std::optional<unsigned> last,
                    ArrayRef<unsigned> others) -> LogicalResult {
    AffineMap map = op.getMap(operand);
    bool ends = !last || (map.getNumResults() > 0 &&
                          map.getResults().back() ==
                              getAffineDimExpr(*last, op.getContext()));
    bool isIndependent = llvm::none_of(
        others, [&](unsigned loop) { return map.isFunctionOfDim(loop); });
    if (ends && isIndependent)
      return success();
    return op.emitOpError("cannot read operand ")
           << operand.getOperandNumber() << " by " << AffineMapAttr::get(map)
           << " (online_attention_c3)";
  };
  unsigned key = op.getKeyLoop(), depth = op.getDepthLoop(),
           column = op.getColumnLoop();
  if (failed(verify(op.getQueryMutable(), depth, {key, column})) ||
      failed(verify(op.getKeyMutable(), depth, {column})) ||
      failed(verify(op.getValueMutable(), column, {depth})))
    return failure();
  if (!op.getMask())
    return success();
  return verify(op.getMaskMutable()[0], std::nullopt, {depth, column});
}

/// online_attention_c5
static LogicalResult verifyElements(OnlineAttentionOp op) {
  if (isa<FloatType>(op.getElementType()) &&
      llvm::all_of(op.getDpsInits(), [&](Value out) {
        return getElementTypeOrSelf(out) == op.getElementType();
      }))
    return success();
  return op.emitOpError("needs outs of one float type (online_attention_c5)");
}

/// online_attention_c8
static LogicalResult verifyCausal(OnlineAttentionOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  bool hasQueries = op.getNumRowLoops() > 0 &&
                    !ShapedType::isDynamic(extents[op.getNumRowLoops() - 1]);
  if (!op.getCausal() || hasQueries)
    return success();
  return op.emitOpError("is causal and needs a static number of queries "
                        "(online_attention_c8)");
}

LogicalResult OnlineAttentionOp::verify() {
  if (failed(verifyMaps(*this)) || failed(verifyOutMaps(*this)) ||
      failed(verifyInputMaps(*this)) ||
      failed(verifyLoopExtents(cast<BodyOpInterface>(getOperation()),
                               "online_attention_c4")) ||
      failed(verifyElements(*this)) || failed(verifyCausal(*this)))
    return failure();
  return verifyTensorsOrBuffers(cast<BodyOpInterface>(getOperation()),
                                "online_attention_c7");
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  SmallVector<Type> types(getNumRowLoops() + 1, IndexType::get(getContext()));
  types.push_back(getElementType());
  if (getMask())
    types.push_back(getElementTypeOrSelf(getMask()));
  return verifyScoreRegion(getOperation(), getScoreBlock(), types,
                           getElementType(), "an attention",
                           "online_attention_c6");
}

void OnlineAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addBodyOpEffects(cast<BodyOpInterface>(getOperation()), effects);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

int64_t OnlineAttentionOp::countRuns(Region &, ArrayRef<int64_t> extents) {
  return multiplyExtents(extents.take_front(getNumRowLoops() + 1));
}

/// Counts a conversion to the type of the scores as one operation.
int64_t OnlineAttentionOp::countFlops(ArrayRef<int64_t> extents,
                                      int64_t flopsOfFunction) {
  auto countConversions = [&](ValueRange operands) {
    return llvm::count_if(operands, [&](Value operand) {
      return getElementTypeOrSelf(operand) != getElementType();
    });
  };
  // Both contractions have a product, a sum and conversions per element. The
  // softmax has a maximum, a sum, a difference and an exponential per score,
  // and a maximum per row.
  int64_t perScore =
      extents[getDepthLoop()] * (2 + countConversions({getQuery(), getKey()})) +
      extents[getColumnLoop()] * (2 + countConversions({getValue()})) + 3 +
      flopsOfFunction;
  return addFlops(multiplyFlops(countRuns(getRegion(), extents), perScore),
                  multiplyExtents(extents.take_front(getNumRowLoops())));
}

/// Tiles of later queries have more keys.
bool OnlineAttentionOp::growsWithRows() {
  return getCausal() && getStaticLoopRanges()[getNumRowLoops() - 1] > 1;
}

void OnlineAttentionOp::dropRowIndices(Value zero,
                                       const llvm::SmallBitVector &dropped) {
  // The extents of the loops are not those of the mask.
  setCausal(false);
  Block *block = getScoreBlock();
  for (int loop : dropped.set_bits())
    block->getArgument(loop).replaceAllUsesWith(zero);
  block->eraseArguments([&](BlockArgument argument) {
    return argument.getArgNumber() < dropped.size() &&
           dropped.test(argument.getArgNumber());
  });
}
