//===- Contraction.cpp - Matches matrix products --------------------------===//

#include "passes/target/cpu/Contraction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <utility>

using namespace mlir;
using namespace mlir::ark;

/// With fewer columns, the transposed form does not fill its vectors.
static constexpr int64_t kMinTransposedColumns = 16;

/// Returns the dimension of a buffer along which elements are contiguous: the
/// last one if possible.
static std::optional<unsigned> getContiguousDim(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (unsigned dim = strides.size(); dim-- > 0;)
    if (strides[dim] == 1)
      return dim;
  return std::nullopt;
}

bool ark::isContiguousIn(MemRefType type, AffineMap map, unsigned dim) {
  std::optional<unsigned> contiguous = getContiguousDim(type);
  return contiguous &&
         map.getResult(*contiguous) == getAffineDimExpr(dim, map.getContext());
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

  Contraction result{op, {}, {}, {}, 0, 1, false, false, false, {}, {}};
  for (OpOperand &operand : op->getOpOperands()) {
    result.buffers[operand.getOperandNumber()] = operand.get();
    result.maps[operand.getOperandNumber()] =
        op.getMatchingIndexingMap(&operand);
  }
  for (unsigned operand = 0; operand < 3; ++operand)
    if (!isVectorElement(result.getType(operand).getElementType()))
      return std::nullopt;
  if (!result.getType(2).getElementType().isF32())
    return std::nullopt;

  SmallVector<unsigned> rows(dims->m.begin(), dims->m.end());
  SmallVector<unsigned> columns(dims->n.begin(), dims->n.end());
  auto findContiguous = [&](unsigned operand, ArrayRef<unsigned> loops) {
    const auto *found = llvm::find_if(loops, [&](unsigned dim) {
      return isContiguousIn(result.getType(operand), result.maps[operand], dim);
    });
    return found == loops.end() ? std::nullopt : std::optional(*found);
  };
  result.k = pick(op, SmallVector<unsigned>(dims->k.begin(), dims->k.end()));
  auto isAlongDepth = [&](unsigned operand) {
    return findContiguous(operand, *result.k.dim).has_value();
  };
  // C^T = B^T A^T: the operand that contains the contiguous loop of C becomes
  // B.
  if (!findContiguous(2, columns)) {
    if (!findContiguous(2, rows))
      return std::nullopt;
    std::swap(rows, columns);
    std::swap(result.lhs, result.rhs);
  }
  result.n = pick(op, *findContiguous(2, columns));
  result.m = pick(op, rows);

  // If B needs a panel and A is read along its strides, C^T needs neither.
  std::optional<unsigned> row = findContiguous(result.lhs, rows);
  if (row && isAlongDepth(result.rhs) && !isAlongDepth(result.lhs)) {
    ContractionDim dim = pick(op, *row);
    if (dim.extent.value_or(kMinTransposedColumns) >= kMinTransposedColumns) {
      result.resultTransposed = true;
      result.m = std::exchange(result.n, dim);
      std::swap(result.lhs, result.rhs);
    }
  }

  if (!findContiguous(result.rhs, *result.n.dim)) {
    if (!isAlongDepth(result.rhs))
      return std::nullopt;
    result.rhsTransposed = true;
  }
  result.lhsContiguous = isAlongDepth(result.lhs);
  // The panel of a transposed operand needs a static size.
  if (result.rhsTransposed && !result.k.extent)
    return std::nullopt;
  return result;
}

void Contraction::transposeBuffers(ImplicitLocOpBuilder &builder) {
  for (auto [buffer, map] : llvm::zip(buffers, maps)) {
    auto type = cast<MemRefType>(buffer.getType());
    std::optional<unsigned> contiguous = getContiguousDim(type);
    if (!contiguous || *contiguous + 1 == type.getRank())
      continue;
    auto order = llvm::to_vector(llvm::seq<unsigned>(type.getRank()));
    order.erase(order.begin() + *contiguous);
    order.push_back(*contiguous);
    AffineMap permutation =
        AffineMap::getPermutationMap(order, builder.getContext());
    buffer = memref::TransposeOp::create(builder, buffer,
                                         AffineMapAttr::get(permutation));
    map = permutation.compose(map);
  }
}

bool ark::prefersDots(const Contraction &contraction) {
  return contraction.rhsTransposed && contraction.lhsContiguous &&
         contraction.m.extent && *contraction.m.extent <= 4;
}
