//===- RowConvolution.cpp - Structured convolutions of rows ---------------===//

#include "lib/support/RowConvolution.h"

using namespace mlir;
using namespace mlir::ark;

/// Adds the factors of the loops in a sum of multiples of loops. Returns false
/// for other expressions.
static bool addFactors(AffineExpr expr, MutableArrayRef<int64_t> factors) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    ++factors[loop.getPosition()];
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() == 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addFactors(binary.getLHS(), factors) &&
           addFactors(binary.getRHS(), factors);
  auto loop = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !loop || !factor)
    return false;
  factors[loop.getPosition()] += factor.getValue();
  return true;
}

/// Returns the loops of the dimensions of an operand, or nothing if a dimension
/// has several loops.
static std::optional<SmallVector<unsigned>> getLoops(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      return std::nullopt;
    loops.push_back(loop.getPosition());
  }
  return loops;
}

std::optional<RowConvolution> RowConvolution::match(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto filters = getLoops(maps[0]), out = getLoops(maps[2]);
  AffineMap image = maps[1];
  if (!filters || !out || image.getNumResults() != 3 || filters->size() < 3 ||
      filters->size() > 4 || out->size() < 2 || out->size() > 3)
    return std::nullopt;
  auto channel = dyn_cast<AffineDimExpr>(image.getResult(0)),
       column = dyn_cast<AffineDimExpr>(image.getResult(2));
  unsigned numLoops = filters->size() + out->size() - 1;
  if (!channel || !column || op.getNumLoops() != numLoops ||
      (*filters)[0] != (*out)[0] || (*filters)[1] != channel.getPosition() ||
      out->back() != column.getPosition())
    return std::nullopt;
  SmallVector<int64_t> factors(numLoops, 0);
  if (!addFactors(image.getResult(1), factors))
    return std::nullopt;

  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  RowConvolution found{1, extents[out->back()], extents[(*filters)[1]], 1, 1, 1,
                       1};
  if (out->size() == 3) {
    found.rows = extents[(*out)[1]];
    found.stride = factors[(*out)[1]];
  }
  found.height = extents[(*filters)[2]];
  found.dilation = factors[(*filters)[2]];
  if (filters->size() == 4) {
    found.width = extents[(*filters)[3]];
    // The rows of the elements of a window follow one another.
    if (factors[(*filters)[3]] != 1)
      return std::nullopt;
  }
  bool areKnown =
      llvm::none_of(ArrayRef<int64_t>{found.rows, found.columns, found.channels,
                                      found.height, found.width},
                    ShapedType::isDynamic);
  bool isSum = factors[(*out)[0]] == 0 && factors[out->back()] == 0 &&
               factors[channel.getPosition()] == 0;
  return areKnown && isSum && found.stride > 0 && found.dilation > 0
             ? std::optional(found)
             : std::nullopt;
}
