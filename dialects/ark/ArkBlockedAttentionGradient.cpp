//===- ArkBlockedAttentionGradient.cpp - Gradients in a task's body -------===//

#include "dialects/ark/ArkBodyOpChecks.h"
#include "dialects/ark/ArkOps.h"

using namespace mlir;
using namespace mlir::ark;

/// blocked_attention_gradient_c1
static LogicalResult verifyMaps(BlockedAttentionGradientOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != op->getNumOperands())
    return op.emitOpError("needs one map for every operand "
                          "(blocked_attention_gradient_c1)");
  int64_t rank = cast<ShapedType>(op.getGradient().getType()).getRank();
  int64_t loops = maps.front().getNumDims();
  bool hasLoops = rank > 0 && (loops == rank + 3 || loops == rank + 4);
  for (auto [map, type] : llvm::zip(maps, op->getOperandTypes()))
    if (!hasLoops || map.getNumDims() != loops || map.getNumSymbols() != 0 ||
        map.getNumResults() != cast<ShapedType>(type).getRank())
      return op.emitOpError("needs maps from the rows and four or five other "
                            "loops to the dimensions of each operand "
                            "(blocked_attention_gradient_c1)");
  return success();
}

/// blocked_attention_gradient_c2
static LogicalResult verifyOutMaps(BlockedAttentionGradientOp op) {
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
  auto withLoop = [&](unsigned loop) {
    auto loops = llvm::to_vector(llvm::seq(0u, op.getNumRowLoops()));
    loops.push_back(loop);
    return identity.getSubMap(loops);
  };
  SmallVector<AffineMap> expected = {withLoop(op.getDepthLoop())};
  if (op.hasKeyRows())
    expected.push_back(withLoop(op.getColumnLoop()));
  expected.append(2, withLoop(op.getBlockLoop()));
  for (auto [operand, map] : llvm::zip(op.getDpsInitsMutable(), expected))
    if (op.getMap(operand) != map)
      return op.emitOpError("needs the map ")
             << AffineMapAttr::get(map) << " for out "
             << operand.getOperandNumber() -
                    op.getDpsInitsMutable()[0].getOperandNumber()
             << " (blocked_attention_gradient_c2)";
  return success();
}

/// blocked_attention_gradient_c3
static LogicalResult verifyInputMaps(BlockedAttentionGradientOp op) {
  unsigned rows = op.getNumRowLoops(), depth = op.getDepthLoop(),
           column = op.getColumnLoop();
  auto verify = [&](OpOperand &operand, bool hasOthers,
                    std::optional<unsigned> last) -> LogicalResult {
    AffineMap map = op.getMap(operand);
    bool isAllowed = map.isProjectedPermutation(/*allowZeroInResults=*/true);
    for (unsigned loop = rows; loop < op.getNumLoops(); ++loop)
      if (map.isFunctionOfDim(loop))
        isAllowed &= loop == last || (hasOthers && loop < depth);
    if (isAllowed)
      return success();
    return op.emitOpError("cannot read operand ")
           << operand.getOperandNumber() << " by " << AffineMapAttr::get(map)
           << " (blocked_attention_gradient_c3)";
  };
  if (failed(verify(op.getLeftMutable(), /*hasOthers=*/false, depth)) ||
      failed(verify(op.getRightMutable(), /*hasOthers=*/true, depth)) ||
      failed(verify(op.getLeftSlopeMutable(), /*hasOthers=*/false, column)) ||
      failed(verify(op.getRightSlopeMutable(), /*hasOthers=*/true, column)) ||
      failed(verify(op.getLogSumExpMutable(), /*hasOthers=*/true, {})) ||
      failed(verify(op.getMeanMutable(), /*hasOthers=*/true, {})))
    return failure();
  if (!op.getMask())
    return success();
  return verify(op.getMaskMutable()[0], /*hasOthers=*/true, {});
}

/// blocked_attention_gradient_c5
static LogicalResult verifyElements(BlockedAttentionGradientOp op) {
  if (isa<FloatType>(op.getElementType()) &&
      llvm::all_of(op.getDpsInits(), [&](Value out) {
        return getElementTypeOrSelf(out) == op.getElementType();
      }))
    return success();
  return op.emitOpError("needs outs of one float type "
                        "(blocked_attention_gradient_c5)");
}

/// blocked_attention_gradient_c8, blocked_attention_gradient_c9
static LogicalResult verifyStaticExtents(BlockedAttentionGradientOp op) {
  unsigned rows = op.getNumRowLoops();
  bool hasRows =
      rows > 0 &&
      !ShapedType::isDynamic(op.getShape(&op.getGradientMutable())[rows - 1]);
  if (op.getCausal() && !hasRows)
    return op.emitOpError("is causal and needs a static number of rows "
                          "(blocked_attention_gradient_c8)");
  if (ShapedType::isDynamic(op.getBlockSize()) || op.getBlockSize() <= 0)
    return op.emitOpError("needs a static, positive number of others in a "
                          "block (blocked_attention_gradient_c9)");
  return success();
}

LogicalResult BlockedAttentionGradientOp::verify() {
  if (failed(verifyMaps(*this)) || failed(verifyOutMaps(*this)) ||
      failed(verifyInputMaps(*this)) ||
      failed(verifyLoopExtents(cast<BodyOpInterface>(getOperation()),
                               "blocked_attention_gradient_c4")) ||
      failed(verifyElements(*this)) || failed(verifyStaticExtents(*this)))
    return failure();
  return verifyTensorsOrBuffers(cast<BodyOpInterface>(getOperation()),
                                "blocked_attention_gradient_c7");
}

LogicalResult BlockedAttentionGradientOp::verifyRegions() {
  SmallVector<Type> types(getNumRowLoops() + getNumOtherLoops(),
                          IndexType::get(getContext()));
  types.push_back(getElementType());
  if (getMask())
    types.push_back(getElementTypeOrSelf(getMask()));
  return verifyScoreRegion(getOperation(), getScoreBlock(), types,
                           getElementType(), "the gradient of an attention",
                           "blocked_attention_gradient_c6");
}

void BlockedAttentionGradientOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addBodyOpEffects(cast<BodyOpInterface>(getOperation()), effects);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

int64_t BlockedAttentionGradientOp::countRuns(Region &,
                                              ArrayRef<int64_t> extents) {
  return multiplyExtents(
      extents.take_front(getNumRowLoops() + getNumOtherLoops()));
}

/// A contraction has a product and a sum for each element. Each pair of a row
/// and another has an exponential, two differences and a product.
int64_t BlockedAttentionGradientOp::countFlops(ArrayRef<int64_t> extents,
                                               int64_t flopsOfFunction) {
  int64_t overColumns = hasKeyRows() ? 2 : 1;
  int64_t perPair = extents[getDepthLoop()] * 2 * 2 +
                    extents[getColumnLoop()] * 2 * overColumns + 3 +
                    flopsOfFunction;
  return multiplyFlops(countRuns(getRegion(), extents), perPair);
}

/// Tiles of later queries have more keys.
bool BlockedAttentionGradientOp::growsWithRows() {
  return getCausal() && !hasKeyRows() &&
         getStaticLoopRanges()[getNumRowLoops() - 1] > 1;
}

void BlockedAttentionGradientOp::dropRowIndices(
    Value zero, const llvm::SmallBitVector &dropped) {
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
