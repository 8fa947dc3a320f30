//===- Alignment.cpp - Alignment of elements of a buffer ------------------===//

#include "passes/target/support/Alignment.h"

#include "passes/kernel/KernelAbi.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Exceeds the alignment of every access.
static constexpr uint64_t kMaxAlignment = 256;

/// Returns a known divisor of `value`; 0 for zero.
static uint64_t getDivisor(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return llvm::AbsoluteValue(*constant);
  auto apply = cast<Value>(value).getDefiningOp<affine::AffineApplyOp>();
  return apply ? apply.getAffineMap().getResult(0).getLargestKnownDivisor() : 1;
}

/// Returns the alignment of an address `bytes` after an aligned address.
static uint64_t getAlignmentAt(uint64_t alignment, uint64_t bytes) {
  return bytes == 0 ? alignment : llvm::MinAlign(alignment, bytes);
}

static uint64_t getBaseAlignment(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  uint64_t least = getElementBytes(type.getElementType());
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto attribute = function ? function.getArgAttrOfType<IntegerAttr>(
                                    argument.getArgNumber(),
                                    LLVM::LLVMDialect::getAlignAttrName())
                              : nullptr;
    return attribute ? attribute.getInt() : least;
  }
  if (auto temporary = buffer.getDefiningOp<memref::AllocaOp>())
    return temporary.getAlignment().value_or(least);
  if (auto cast = buffer.getDefiningOp<memref::CastOp>())
    return getBaseAlignment(cast.getSource());
  if (auto cast = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    if (int64_t offset = cast.getStaticOffset(0);
        !ShapedType::isDynamic(offset))
      return getAlignmentAt(getBaseAlignment(cast.getSource()), offset * least);
  auto view = buffer.getDefiningOp<memref::SubViewOp>();
  if (!view)
    return least;
  uint64_t alignment = getBaseAlignment(view.getSource());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(view.getSourceType(), strides, offset)))
    return least;
  for (auto [offset, stride] : llvm::zip(view.getMixedOffsets(), strides))
    alignment =
        getAlignmentAt(alignment, ShapedType::isDynamic(stride)
                                      ? least
                                      : getDivisor(offset) * stride * least);
  return alignment;
}

/// Returns the alignment of an element whose indices are multiples of
/// `divisors`.
static int64_t getAlignmentOf(Value buffer, ArrayRef<uint64_t> divisors) {
  auto type = cast<MemRefType>(buffer.getType());
  uint64_t bytes = getElementBytes(type.getElementType());
  uint64_t alignment = std::min(kMaxAlignment, getBaseAlignment(buffer));
  SmallVector<int64_t> strides;
  int64_t offset;
  if (divisors.empty() || failed(getStridesAndOffset(type, strides, offset)))
    return bytes;
  for (auto [divisor, stride] : llvm::zip(divisors.drop_back(), strides))
    alignment = getAlignmentAt(alignment, ShapedType::isDynamic(stride)
                                              ? bytes
                                              : divisor * stride * bytes);
  return getAlignmentAt(alignment, divisors.back() * bytes);
}

int64_t ark::getAlignment(Value buffer, ValueRange indices, int64_t elements) {
  SmallVector<uint64_t> divisors;
  for (Value index : indices)
    divisors.push_back(getDivisor(index));
  if (!divisors.empty())
    divisors.back() = elements;
  return getAlignmentOf(buffer, divisors);
}

int64_t ark::getRowAlignment(Value buffer, int64_t elements) {
  SmallVector<uint64_t> divisors(cast<MemRefType>(buffer.getType()).getRank(),
                                 1);
  if (!divisors.empty())
    divisors.back() = elements;
  return getAlignmentOf(buffer, divisors);
}

int64_t ark::getLeadingAlignment(Value buffer) {
  SmallVector<uint64_t> divisors(cast<MemRefType>(buffer.getType()).getRank(),
                                 0);
  if (divisors.size() > 1)
    divisors.front() = 1;
  return getAlignmentOf(buffer, divisors);
}

bool ark::isAlignedArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto body = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!body)
    return false;
  auto align = body.getArgAttrOfType<IntegerAttr>(
      argument.getArgNumber(), LLVM::LLVMDialect::getAlignAttrName());
  return align && align.getInt() % abi::kGpuBufferAlignment == 0;
}
