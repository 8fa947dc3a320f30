//===- AttentionLoops.cpp - Attention by the warps of a CTA ---------------===//

#include "passes/target/AttentionLoops.h"

#include "passes/target/Alignment.h"
#include "passes/target/AttentionBuilder.h"
#include "passes/target/Lowerings.h"
#include "passes/target/MappedLoop.h"
#include "passes/target/SharedMemory.h"
#include "passes/target/WideLoad.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// The columns of an instruction.
static constexpr int64_t kMostRows = 8;
/// A lane has registers for a part of that many elements of several rows.
static constexpr int64_t kMostDepth = 128;
static constexpr int64_t kSumBytes = 4;

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// Whether rows can be loaded in pieces of `elements`.
static bool isLoadable(Value buffer, int64_t elements) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 && getRowAlignment(buffer, elements) >= kLoadBytes;
}

std::optional<AttentionShape>
AttentionShape::choose(const AttentionOps &attention, int64_t threads) {
  Type element = attention.getElementType();
  bool isHalf = element.isBF16() || element.isF16();
  for (Value buffer : {attention.query, attention.key, attention.value})
    if (!isHalf || getElementTypeOrSelf(buffer) != element)
      return std::nullopt;
  AttentionShape shape;
  shape.warps = threads / kWarpSize;
  shape.rows = attention.getNumRows();
  shape.depth = attention.depth;
  shape.width = kLoadBytes / getElementBytes(element);
  // In the second loop a lane has one warp's numbers.
  if (threads % kWarpSize != 0 || shape.warps > kWarpSize ||
      !llvm::isPowerOf2_64(shape.warps) || shape.rows < 1 ||
      shape.rows > kMostRows || shape.depth > kMostDepth ||
      shape.depth % shape.width != 0)
    return std::nullopt;
  for (Value buffer : {attention.query, attention.key, attention.value})
    if (!isLoadable(buffer, shape.width))
      return std::nullopt;
  return shape;
}

static SmallVector<MemRefType> getBufferTypes(MLIRContext *context,
                                              const AttentionShape &shape) {
  Type f32 = Float32Type::get(context);
  return {MemRefType::get({shape.warps, shape.rows}, f32),
          MemRefType::get({shape.warps, shape.rows}, f32),
          MemRefType::get({shape.warps, shape.rows, shape.depth}, f32)};
}

int64_t AttentionShape::getBytes() const {
  int64_t numbers = warps * rows * kSumBytes;
  return 2 * llvm::alignTo(numbers, kSharedAlignment) +
         llvm::alignTo(numbers * depth, kSharedAlignment);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The thread's own number, from itself. What depends on it is computed here: a
/// compiler would do that before the loop over vCTAs, and have no registers
/// left for what lies between.
static Value pin(ImplicitLocOpBuilder &builder, Value thread) {
  Type i32 = builder.getI32Type();
  Value number = arith::IndexCastOp::create(builder, i32, thread);
  Value width = arith::ConstantIntOp::create(builder, kWarpSize, 32);
  Value lane = arith::RemUIOp::create(builder, number, width);
  auto shuffle = gpu::ShuffleOp::create(builder, number, lane, width,
                                        gpu::ShuffleMode::IDX);
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                      shuffle.getShuffleResult());
}

void ark::createAttentionLoops(ImplicitLocOpBuilder &builder,
                               const AttentionOps &attention,
                               const AttentionShape &shape) {
  SmallVector<Value> memory;
  for (MemRefType type : getBufferTypes(builder.getContext(), shape))
    memory.push_back(createTemporary(builder, type, kSharedAlignment));
  AttentionBuffers buffers{memory[0], memory[1], memory[2]};
  for (auto *build : {buildAttentionStreams, buildAttentionRows}) {
    OpBuilder::InsertionGuard guard(builder);
    Value thread =
        pin(builder, createMappedLoop(builder, shape.warps * kWarpSize));
    build(builder, attention, shape, buffers, thread);
  }
}
