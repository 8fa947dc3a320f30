//===- AttentionGradientShape.cpp - Division of a gradient ----------------===//

#include "passes/target/attention/AttentionGradientShape.h"

#include "passes/target/attention/AttentionLoops.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Alignment.h"

#include "lib/support/OnePassAttention.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;

/// Returns true if each row of a 16-bit operand can be loaded in vectors.
static bool isLoadable(Value buffer, Type element) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.getElementType() == element &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 &&
         getRowAlignment(buffer, kLoadBytes / kElementBytes) >= kLoadBytes;
}

static bool areLoadable(BlockedAttentionGradientOp op) {
  Type element = getElementTypeOrSelf(op.getLeft());
  return (element.isBF16() || element.isF16()) && op.getElementType().isF32() &&
         llvm::all_of(ArrayRef<Value>{op.getLeft(), op.getRight(),
                                      op.getLeftSlope(), op.getRightSlope()},
                      [&](Value buffer) {
                        return isa<MemRefType>(buffer.getType()) &&
                               isLoadable(buffer, element);
                      });
}

/// Returns the most rows that the memory of a gradient has room for, or zero.
static int64_t getMostRows(BlockedAttentionGradientOp op) {
  Value memory = op.getWeights();
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  auto type = dyn_cast<MemRefType>(memory.getType());
  return type && type.hasStaticShape()
             ? type.getNumElements() / op.getBlockSize()
             : 0;
}

std::optional<AttentionGradientShape>
AttentionGradientShape::choose(BlockedAttentionGradientOp op, MmaAttr mma,
                               int64_t threads) {
  if (!mma || !canReuseRowAccumulators(mma) || op.getNumRowLoops() != 1)
    return std::nullopt;
  AttentionGradientShape shape;
  shape.mma = mma;
  shape.rows = op.getShape(&op.getGradientMutable()).front();
  shape.isClipped = ShapedType::isDynamic(shape.rows);
  if (shape.isClipped)
    shape.rows = getMostRows(op);
  shape.depth = op.getShape(&op.getLeftMutable()).back();
  shape.warps = threads / shape.getWarpSize();
  if (threads % shape.getWarpSize() != 0 ||
      shape.depth != op.getShape(&op.getLeftSlopeMutable()).back() ||
      shape.depth > kMaxOnePassDepth || shape.depth % kOnePassDepthUnit != 0 ||
      !areLoadable(op))
    return std::nullopt;
  int64_t blocks = llvm::divideCeil(shape.rows, shape.getBlockRows());
  if (blocks == 0 || blocks > shape.warps)
    return std::nullopt;
  shape.warpsPerBlock = llvm::bit_floor<uint64_t>(shape.warps / blocks);
  return shape;
}
