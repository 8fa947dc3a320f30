//===- ArkRowNorm.cpp - Norms in the body of a task -----------------------===//

#include "dialects/ark/ArkBodyOpChecks.h"
#include "dialects/ark/ArkOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// row_norm_c1
static LogicalResult verifyMaps(RowNormOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != op->getNumOperands())
    return op.emitOpError("needs one map for every operand (row_norm_c1)");
  unsigned loops = cast<ShapedType>(op.getOut().getType()).getRank();
  for (auto [map, type] : llvm::zip(maps, op->getOperandTypes()))
    if (loops < 1 || map.getNumDims() != loops || map.getNumSymbols() != 0 ||
        map.getNumResults() != cast<ShapedType>(type).getRank())
      return op.emitOpError("needs maps from ")
             << loops << " loops to the dimensions of each operand "
             << "(row_norm_c1)";
  return success();
}

/// row_norm_c2
static LogicalResult verifyOutMaps(RowNormOp op) {
  auto identity =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
  // Without row loops, the map of a value per row has no results.
  auto rows = AffineMap::getFilteredIdentityMap(
      op.getContext(), op.getNumLoops(), [&](AffineDimExpr loop) {
        return loop.getPosition() < op.getNumRowLoops();
      });
  for (OpOperand &operand : op.getDpsInitsMutable()) {
    AffineMap map = op.fillsOut(operand) ? identity : rows;
    if (op.getMap(operand) != map)
      return op.emitOpError("needs the map ")
             << AffineMapAttr::get(map) << " for operand "
             << operand.getOperandNumber() << " (row_norm_c2)";
  }
  return success();
}

LogicalResult RowNormOp::verify() {
  if (failed(verifyMaps(*this)) || failed(verifyOutMaps(*this)))
    return failure();
  // row_norm_c3
  if (ShapedType::isDynamic(getNumColumns()) || getNumColumns() < 1)
    return emitOpError("needs a static, positive number of columns "
                       "(row_norm_c3)");
  if (failed(verifyLoopExtents(cast<BodyOpInterface>(getOperation()),
                               "row_norm_c4")))
    return failure();
  // row_norm_c5
  if (!isa<FloatType>(getElementType()) ||
      (isCentred() && getElementTypeOrSelf(getMean()) != getElementType()))
    return emitOpError("needs a scale and a mean of one float type "
                       "(row_norm_c5)");
  return verifyTensorsOrBuffers(cast<BodyOpInterface>(getOperation()),
                                "row_norm_c7");
}

/// row_norm_c6
static LogicalResult verifyRegion(RowNormOp op, Region &region,
                                  ArrayRef<Type> arguments, Type yielded) {
  Block &block = region.front();
  if (block.getArgumentTypes() != TypeRange(arguments))
    return op.emitOpError("needs region ")
           << region.getRegionNumber() << " with arguments of the types "
           << arguments << " (row_norm_c6)";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield->getOperandTypes() != TypeRange(yielded))
    return op.emitOpError("needs region ")
           << region.getRegionNumber() << " to yield " << yielded
           << " (row_norm_c6)";
  for (Operation &inner : block.without_terminator())
    if (!isMemoryEffectFree(&inner))
      return inner.emitOpError("accesses memory in a norm (row_norm_c6)");
  return success();
}

LogicalResult RowNormOp::verifyRegions() {
  SmallVector<Type> elements = llvm::map_to_vector(
      getInputs(), [](Value input) { return getElementTypeOrSelf(input); });
  SmallVector<Type> all = {getElementType()};
  llvm::append_range(all, elements);
  if (failed(verifyRegion(*this, getPrologue(), elements, getElementType())))
    return failure();
  return verifyRegion(*this, getEpilogue(), all,
                      getElementTypeOrSelf(getOut()));
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

void RowNormOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addBodyOpEffects(cast<BodyOpInterface>(getOperation()), effects);
}

int64_t RowNormOp::countFlops(ArrayRef<int64_t> extents,
                              int64_t flopsOfFunction) {
  // Per element a square, a sum and a product with the scale, and with a mean
  // another sum and two differences. Per row a quotient, a sum and a root, and
  // with a mean another quotient.
  int64_t perElement = isCentred() ? 6 : 3,
          perRow = (isCentred() ? 3 : 2) + flopsOfFunction;
  return addFlops(multiplyFlops(multiplyExtents(extents), perElement),
                  multiplyFlops(multiplyExtents(extents.drop_back()), perRow));
}

int64_t RowNormOp::countRuns(Region &region, ArrayRef<int64_t> extents) {
  // Each sum over a row, and the result, runs the prologue for every element.
  int64_t passes = &region == &getEpilogue() ? 1 : isCentred() ? 3 : 2;
  return multiplyFlops(multiplyExtents(extents), passes);
}

/// Sums read all of a row before the first element of the out is written.
bool RowNormOp::mayOverwrite(OpOperand &input, OpOperand &out) {
  return fillsOut(out) && isDpsInput(&input) && getMap(input) == getMap(out);
}
