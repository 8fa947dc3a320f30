//===- ArkRegions.cpp - Ranges of the offsets of regions ------------------===//

#include "dialects/ark/ArkRegions.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static std::optional<IndexRange> add(IndexRange left, IndexRange right) {
  std::optional<int64_t> lowest = llvm::checkedAdd(left.lowest, right.lowest);
  std::optional<int64_t> highest =
      llvm::checkedAdd(left.highest, right.highest);
  if (!lowest || !highest)
    return std::nullopt;
  return IndexRange{*lowest, *highest};
}

static std::optional<IndexRange> multiply(IndexRange range, int64_t factor) {
  std::optional<int64_t> a = llvm::checkedMul(range.lowest, factor);
  std::optional<int64_t> b = llvm::checkedMul(range.highest, factor);
  if (!a || !b)
    return std::nullopt;
  return IndexRange{std::min(*a, *b), std::max(*a, *b)};
}

static IndexRange remainder(IndexRange range, int64_t divisor) {
  int64_t first = llvm::mod(range.lowest, divisor);
  uint64_t distance = static_cast<uint64_t>(range.highest) -
                      static_cast<uint64_t>(range.lowest);
  // The range has no multiple of the divisor after its first element.
  if (distance < static_cast<uint64_t>(divisor - first))
    return {first, first + static_cast<int64_t>(distance)};
  return {0, divisor - 1};
}

std::optional<IndexRange> ark::getRangeOverGrid(AffineExpr expr,
                                                ArrayRef<int64_t> grid) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return IndexRange{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return IndexRange{0, grid[dim.getPosition()] - 1};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<IndexRange> left = getRangeOverGrid(binary.getLHS(), grid);
  std::optional<IndexRange> right = getRangeOverGrid(binary.getRHS(), grid);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return add(*left, *right);
  if (right->lowest != right->highest)
    return std::nullopt;
  int64_t constant = right->lowest;
  if (expr.getKind() == AffineExprKind::Mul)
    return multiply(*left, constant);
  if (constant <= 0)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv:
    return IndexRange{llvm::divideFloorSigned(left->lowest, constant),
                      llvm::divideFloorSigned(left->highest, constant)};
  case AffineExprKind::CeilDiv:
    return IndexRange{llvm::divideCeilSigned(left->lowest, constant),
                      llvm::divideCeilSigned(left->highest, constant)};
  case AffineExprKind::Mod:
    return remainder(*left, constant);
  default:
    return std::nullopt;
  }
}
