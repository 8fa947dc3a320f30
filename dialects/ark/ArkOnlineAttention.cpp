//===- ArkOnlineAttention.cpp - Attention in the body of a task -----------===//

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

/// online_attention_c4
static LogicalResult verifyExtents(OnlineAttentionOp op) {
  SmallVector<int64_t> extents(op.getNumLoops(), ShapedType::kDynamic);
  for (OpOperand &operand : op->getOpOperands())
    for (auto [expr, extent] :
         llvm::zip(op.getMap(operand).getResults(), op.getShape(&operand))) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || ShapedType::isDynamic(extent))
        continue;
      int64_t &known = extents[dim.getPosition()];
      if (!ShapedType::isDynamic(known) && known != extent)
        return op.emitOpError("has the extents ")
               << known << " and " << extent << " for loop "
               << dim.getPosition() << " (online_attention_c4)";
      known = extent;
    }
  return success();
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

/// online_attention_c7
static LogicalResult verifyResults(OnlineAttentionOp op) {
  bool isOnBuffers = op.hasPureBufferSemantics() && op->getNumResults() == 0;
  bool isOnTensors = op.hasPureTensorSemantics() &&
                     op->getResultTypes() == op.getDpsInits().getTypes();
  if (isOnBuffers || isOnTensors)
    return success();
  return op.emitOpError("needs tensors and a result for each out, or buffers "
                        "and no results (online_attention_c7)");
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
      failed(verifyInputMaps(*this)) || failed(verifyExtents(*this)) ||
      failed(verifyElements(*this)) || failed(verifyCausal(*this)))
    return failure();
  return verifyResults(*this);
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  // online_attention_c6
  SmallVector<Type> types(getNumRowLoops() + 1, IndexType::get(getContext()));
  types.push_back(getElementType());
  if (getMask())
    types.push_back(getElementTypeOrSelf(getMask()));
  if (getScoreBlock()->getArgumentTypes() != TypeRange(types))
    return emitOpError("needs a region with arguments of the types ")
           << types << " (online_attention_c6)";
  auto yield = dyn_cast<YieldOp>(getScoreBlock()->getTerminator());
  if (!yield || yield->getNumOperands() != 1 ||
      getScore().getType() != getElementType())
    return emitOpError("needs a region that yields ")
           << getElementType() << " (online_attention_c6)";
  for (Operation &op : getScoreBlock()->without_terminator())
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("accesses memory in an attention "
                            "(online_attention_c6)");
  return success();
}

void OnlineAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : (*this)->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}
