//===- Contraction.cpp - Matches matrix products --------------------------===//

#include "passes/target/cpu/Contraction.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the position of a loop in an operand's subscript, if it occurs
/// there.
static std::optional<unsigned> positionOf(AffineMap map, unsigned dim) {
  return map.getResultPosition(getAffineDimExpr(dim, map.getContext()));
}

/// Returns true if consecutive values of the loop access consecutive elements.
/// Vectors are loaded along the last dimension only.
static bool isContiguousIn(MemRefType type, AffineMap map, unsigned dim) {
  std::optional<unsigned> position = positionOf(map, dim);
  SmallVector<int64_t> strides;
  int64_t offset;
  return position && *position + 1 == type.getRank() &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

static bool isVectorElement(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

/// Returns the last of several candidate loops, which usually is the innermost
/// in memory order.
static ContractionDim pick(linalg::LinalgOp op, ArrayRef<unsigned> candidates) {
  if (candidates.empty())
    return {std::nullopt, 1};
  unsigned dim = candidates.back();
  int64_t extent = op.getStaticLoopRanges()[dim];
  if (ShapedType::isDynamic(extent))
    return {dim, std::nullopt};
  return {dim, extent};
}

std::optional<Contraction> Contraction::match(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims) || dims->k.empty())
    return std::nullopt;

  Contraction result{op, {}, {}, {}, 0, 1, false, false};
  for (unsigned operand = 0; operand < 3; ++operand)
    if (!isVectorElement(result.getType(operand).getElementType()))
      return std::nullopt;
  if (!result.getType(2).getElementType().isF32())
    return std::nullopt;

  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<unsigned> rows(dims->m.begin(), dims->m.end());
  SmallVector<unsigned> columns(dims->n.begin(), dims->n.end());
  auto contiguousColumn = [&](ArrayRef<unsigned> loops) {
    return llvm::find_if(loops, [&](unsigned dim) {
      return isContiguousIn(result.getType(2), maps[2], dim);
    });
  };
  // C^T = B^T A^T: the operand that contains the contiguous loop of C becomes
  // B.
  if (contiguousColumn(columns) == columns.end()) {
    if (contiguousColumn(rows) == rows.end())
      return std::nullopt;
    std::swap(rows, columns);
    std::swap(result.lhs, result.rhs);
  }
  unsigned column = *contiguousColumn(columns);
  result.n = pick(op, {column});
  result.m = pick(op, rows);
  result.k = pick(op, SmallVector<unsigned>(dims->k.begin(), dims->k.end()));

  MemRefType rhsType = result.getType(result.rhs);
  AffineMap rhsMap = maps[result.rhs];
  bool alongN = isContiguousIn(rhsType, rhsMap, column);
  bool alongK = isContiguousIn(rhsType, rhsMap, *result.k.dim);
  if (!alongN && !alongK)
    return std::nullopt;
  result.rhsTransposed = !alongN;
  result.lhsContiguous = isContiguousIn(result.getType(result.lhs),
                                        maps[result.lhs], *result.k.dim);
  // The panel of a transposed operand needs a static size.
  if (result.rhsTransposed && !result.k.extent)
    return std::nullopt;
  return result;
}

bool ark::prefersDots(const Contraction &contraction) {
  return contraction.rhsTransposed && contraction.lhsContiguous &&
         contraction.m.extent && *contraction.m.extent <= 4;
}
