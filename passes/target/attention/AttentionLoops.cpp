//===- AttentionLoops.cpp - Attention by the warps of a CTA ---------------===//

#include "passes/target/attention/AttentionLoops.h"

#include "passes/target/attention/AttentionBuilder.h"
#include "passes/target/attention/ThreadExchange.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"

#include "lib/support/BufferView.h"
#include "lib/support/OnePassAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kAccumulatorBytes = 4, kElementBytes = 2;
/// Upper bound of the shared memory of an attention in bytes. The rest is used
/// for streamed parameters.
static constexpr int64_t kMaxBytes = 40 * 1024;
static_assert(kWarpgroupDepthUnit == kPanelElements);
/// Stages of keys and values. With more stages, copies begin earlier.
static constexpr int64_t kMinStages = 2, kMaxStages = 3;
/// Upper bound of the queries of a warp that are columns of instructions. A
/// thread holds queries, scores and accumulators of all of them.
static constexpr int64_t kMaxWarpQueries = 64;

//===----------------------------------------------------------------------===//
// Division of the work
//===----------------------------------------------------------------------===//

bool ark::canReuseRowAccumulators(MmaAttr mma) {
  return mma.hasOperandsOfSameThreads() &&
         mma.hasAccumulatorsInThreadsOfLhs() &&
         MatrixFragment(mma.getLhs()).getExtentPerThread(0) == 2 &&
         mma.getLhs().getElements()[1] == mma.getAcc().getElements()[1] &&
         kLoadBytes / kElementBytes %
                 MatrixFragment(mma.getLhs()).getExtentPerThread(1) ==
             0;
}

/// Returns true if rows can be loaded in vectors of `elements` elements.
static bool isLoadable(Value buffer, int64_t elements) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 && getRowAlignment(buffer, elements) >= kLoadBytes;
}

/// Returns true if scores are f32, and if query, key and value have rows of
/// 16-bit floats that loads of `width` elements can read.
static bool areLoadable(const AttentionOps &attention, int64_t width) {
  Type element = attention.getElementType();
  return attention.op.getElementType().isF32() &&
         (element.isBF16() || element.isF16()) &&
         llvm::all_of(
             ArrayRef<Value>{attention.query, attention.key, attention.value},
             [&](Value buffer) {
               return getElementTypeOrSelf(buffer) == element &&
                      isLoadable(buffer, width);
             });
}

/// Returns the number of warps that divide the keys of a block among
/// themselves: a power of two, at most the number of warps per block. More than
/// half of these warps must have a step of keys, and the partial results must
/// fit into shared memory.
static int64_t chooseWarpsPerBlock(const AttentionOps &attention,
                                   AttentionShape shape) {
  int64_t keys = cast<MemRefType>(attention.key.getType()).getDimSize(0);
  shape.warpsPerBlock = llvm::bit_floor<uint64_t>(
      std::max<int64_t>(shape.warps / shape.getBlocks(), 1));
  auto fits = [&] {
    bool haveKeys = ShapedType::isDynamic(keys) ||
                    keys > shape.warpsPerBlock / 2 * shape.getStepKeys();
    return haveKeys && shape.getBytes() <= kMaxBytes;
  };
  while (shape.warpsPerBlock > 1 && !fits())
    shape.warpsPerBlock /= 2;
  return shape.warpsPerBlock;
}

/// Sets the warps and the extents. Returns false if they are not supported.
bool AttentionShape::setThreads(const AttentionOps &attention,
                                int64_t threads) {
  int64_t warpSize = getWarpSize();
  warps = warpsPerBlock = threads / warpSize;
  rows = attention.getNumRows();
  depth = attention.depth;
  width = kLoadBytes / kElementBytes;
  // The second loop assigns one warp's partial results to each thread of a
  // warp, so that a CTA has at most as many warps as a warp has threads.
  return threads % warpSize == 0 && warps <= warpSize &&
         llvm::isPowerOf2_64(warps) && rows >= 1 && depth <= kMaxOnePassDepth &&
         areLoadable(attention, width);
}

/// Divides the blocks among the warps.
void AttentionShape::divideBlocks(const AttentionOps &attention,
                                  int64_t longestWorkItem) {
  warpsPerBlock = chooseWarpsPerBlock(attention, *this);
  // Dividing the vCTAs among teams is better than dividing the keys among
  // warps, whose partial results would have to be combined.
  int64_t possible = llvm::bit_floor<uint64_t>(std::clamp<int64_t>(
      warps / getBlocks(), 1, std::max<int64_t>(longestWorkItem, 1)));
  if (possible > 1 && possible >= warpsPerBlock) {
    teams = possible;
    warps /= teams;
    warpsPerBlock = 1;
  }
}

std::optional<AttentionShape>
AttentionShape::chooseRows(const AttentionOps &attention, MmaAttr mma,
                           int64_t threads, int64_t longestWorkItem) {
  AttentionShape shape;
  shape.mma = mma;
  if (!shape.setThreads(attention, threads))
    return std::nullopt;
  // In a block, a quad holds pairs of columns.
  int64_t unit = shape.hasFewRows() ? shape.width : 2 * shape.getTileColumns();
  if (shape.depth % unit != 0)
    return std::nullopt;
  if (!shape.hasFewRows())
    shape.divideBlocks(attention, longestWorkItem);
  return shape.getBytes() <= kMaxBytes ? std::optional(shape) : std::nullopt;
}

/// Returns true if the threads that hold accumulators of the product of keys
/// and queries can use these accumulators as the right operand of the product
/// of values and exponentials.
static bool haveQueryColumns(MmaAttr mma) {
  return mma.hasOperandsOfSameThreads() &&
         mma.hasAccumulatorsInThreadsOfRhs() && mma.getM() == mma.getN() &&
         MatrixFragment(mma.getLhs()).getExtentPerThread(0) == 1 &&
         kLoadBytes / kElementBytes %
                 MatrixFragment(mma.getLhs()).getExtentPerThread(1) ==
             0;
}

std::optional<AttentionShape>
AttentionShape::chooseColumns(const AttentionOps &attention, MmaAttr mma,
                              int64_t threads, int64_t longestWorkItem) {
  AttentionShape shape;
  shape.mma = mma;
  if (!shape.setThreads(attention, threads) || shape.depth % mma.getM() != 0)
    return std::nullopt;
  int64_t blocks = llvm::divideCeil(shape.rows, mma.getN());
  shape.queryColumns =
      std::clamp<int64_t>(llvm::divideCeil(blocks, shape.warps), 1,
                          std::max<int64_t>(kMaxWarpQueries / mma.getN(), 1));
  shape.divideBlocks(attention, longestWorkItem);
  return shape.getBytes() <= kMaxBytes ? std::optional(shape) : std::nullopt;
}

/// Returns the cost of a shape with query columns, for a lexicographic
/// comparison: the queries that a warp multiplies by all keys, how often a warp
/// loads the keys, and the negative size of the instruction. Both numbers of a
/// warp are scaled by its share of the keys.
static std::tuple<int64_t, int64_t, int64_t>
getColumnCost(const AttentionShape &shape) {
  int64_t shares = shape.teams * shape.warps;
  int64_t passes =
      llvm::divideCeil(shape.getBlocks() * shape.warpsPerBlock, shape.warps);
  int64_t loads = passes * shares / (shape.warpsPerBlock * shape.teams);
  return {shape.getBlockRows() * loads, loads,
          -shape.mma.getM() * shape.mma.getN() * shape.mma.getK()};
}

std::optional<AttentionShape>
AttentionShape::choose(const AttentionOps &attention,
                       ArrayRef<MmaAttr> instructions, int64_t threads,
                       int64_t longestWorkItem) {
  if (instructions.empty())
    return std::nullopt;
  if (canReuseRowAccumulators(instructions.front()))
    return chooseRows(attention, instructions.front(), threads,
                      longestWorkItem);
  std::optional<AttentionShape> best;
  for (MmaAttr mma : instructions) {
    if (!haveQueryColumns(mma))
      continue;
    auto shape = chooseColumns(attention, mma, threads, longestWorkItem);
    if (shape && (!best || getColumnCost(*shape) < getColumnCost(*best)))
      best = shape;
  }
  return best;
}

/// Returns true if a thread's accumulators are pairs of neighbouring columns of
/// two rows, so that the accumulators of two neighbouring instructions along
/// the keys form an operand.
static bool haveWarpgroups(MmaAttr mma) {
  MatrixFragment acc(mma.getAcc());
  return acc.getExtentPerThread(0) == 2 && acc.getConsecutive(1) == 2 &&
         acc.getExtentPerThread(1) == 2 && mma.getK() == 2 * mma.getN() &&
         kStageDepth % mma.getK() == 0;
}

static int64_t countStages(const AttentionShape &shape, int64_t room) {
  return std::min(kMaxStages,
                  (room - shape.getQueryBytes()) / shape.getStageBytes());
}

/// Returns true if every warpgroup that shares the keys of a block can have
/// keys, and if the stages and the partial results fit into shared memory.
static bool hasUse(const AttentionShape &shape, int64_t keys, int64_t room) {
  int64_t before = (shape.keyGroups - 1) * shape.getGroupKeys();
  return (ShapedType::isDynamic(keys) || keys > before) &&
         countStages(shape, room) >= kMinStages &&
         shape.getQueryBytes() + shape.getPartialBytes() <= room;
}

std::optional<AttentionShape>
AttentionShape::chooseWarpgroups(const AttentionOps &attention, MmaAttr mma,
                                 int64_t threads, int64_t room) {
  if (!mma || !haveWarpgroups(mma))
    return std::nullopt;
  AttentionShape shape;
  shape.mma = mma;
  shape.warps = threads / shape.getWarpSize();
  shape.warpsPerBlock = 1;
  shape.rows = attention.getNumRows();
  shape.depth = attention.depth;
  shape.width = kLoadBytes / kElementBytes;
  // In a step of a copy, the threads copy whole swizzle blocks of a panel.
  int64_t groups = threads / shape.getGroupThreads();
  int64_t rowsAtOnce = threads / (kStageRowBytes / kLoadBytes);
  if (threads % shape.getGroupThreads() != 0 || rowsAtOnce % kBlockRows != 0 ||
      kStageDepth % rowsAtOnce != 0 || groups % shape.getBlocks() != 0 ||
      shape.rows <= shape.getBlockRows() / 2 ||
      shape.depth > kMaxOnePassDepth ||
      shape.depth % kWarpgroupDepthUnit != 0 ||
      !areLoadable(attention, shape.width))
    return std::nullopt;
  int64_t keys = cast<MemRefType>(attention.key.getType()).getDimSize(0);
  shape.keyGroups = groups / shape.getBlocks();
  while (shape.keyGroups > 1 && !hasUse(shape, keys, room))
    shape.keyGroups /= 2;
  shape.stages = countStages(shape, room);
  return shape.stages >= kMinStages ? std::optional(shape) : std::nullopt;
}

int64_t AttentionShape::getPartialValues() const {
  int64_t rowsPerThread = MatrixFragment(mma.getAcc()).getExtentPerThread(0);
  return 2 * rowsPerThread + getBlockRows() * depth / getGroupThreads();
}

int64_t AttentionShape::getPartialBytes() const {
  return (keyGroups - 1) * getBlocks() *
         getExchangeBytes(getPartialValues(), getGroupThreads());
}

int64_t AttentionShape::getQueryBytes() const {
  return getBlocks() * getBlockRows() * depth * kElementBytes;
}

int64_t AttentionShape::getTileBytes() const {
  return getGroupKeys() * depth * kElementBytes;
}

static SmallVector<MemRefType> getBufferTypes(MLIRContext *context,
                                              const AttentionShape &shape) {
  Type f32 = Float32Type::get(context);
  return {MemRefType::get({shape.warpsPerBlock, shape.rows}, f32),
          MemRefType::get({shape.warpsPerBlock, shape.rows}, f32),
          MemRefType::get(
              {shape.warpsPerBlock, shape.rows, shape.getPartialPitch()}, f32)};
}

/// Returns the type of the stages of keys and values. If threads store them, a
/// row ends with the bytes of one load.
static MemRefType getStageType(Type element, const AttentionShape &shape) {
  if (shape.copiesKeys)
    return MemRefType::get({shape.getBytes() / kElementBytes}, element);
  int64_t rows = 2 * shape.keyStages * shape.getStepKeys();
  return MemRefType::get({rows, shape.depth + shape.width}, element);
}

int64_t AttentionShape::getRowsPerCopy() const {
  return getWarpSize() * width / depth;
}

int64_t AttentionShape::getCopyPitch() const {
  return (getWarpSize() + 1) * width * kElementBytes;
}

int64_t AttentionShape::getKeyStageBytes() const {
  int64_t rows = 2 * getStepKeys();
  return copiesKeys ? rows / getRowsPerCopy() * getCopyPitch()
                    : rows * (depth + width) * kElementBytes;
}

/// Returns true if copies can fill stages: they write whole rows, in which
/// places of chunks differ in one bit, and all warps have equally many.
static bool canCopyKeys(const AttentionShape &shape) {
  constexpr int64_t kLeastDepth = 64;
  return llvm::isPowerOf2_64(shape.depth) && shape.depth >= kLeastDepth &&
         shape.getStepKeys() % (shape.getRowsPerCopy() * shape.warps) == 0;
}

void AttentionShape::useRoom(int64_t room, bool canCopy) {
  constexpr int64_t kStoredStages = 2, kCopiedStages = 3;
  while (hasQueryColumns() && warpsPerBlock > 1 && getBytes() > room)
    warpsPerBlock /= 2;
  if (!hasQueryColumns() || teams > 1 || warpsPerBlock > 1 || warps == 1 ||
      getBlocks() % warps != 0)
    return;
  copiesKeys = canCopy && canCopyKeys(*this);
  keyStages = copiesKeys ? kCopiedStages : kStoredStages;
  if (copiesKeys && getBytes() > room) {
    copiesKeys = false;
    keyStages = kStoredStages;
  }
  if (getBytes() > room)
    keyStages = 0;
}

int64_t AttentionShape::getBytes() const {
  if (keyStages > 0)
    return keyStages * getKeyStageBytes();
  if (hasWarpgroups())
    return getQueryBytes() +
           std::max(stages * getStageBytes(), getPartialBytes());
  if (!hasPartialResults())
    return 0;
  int64_t scalarBytes = warpsPerBlock * rows * kAccumulatorBytes;
  return 2 * llvm::alignTo(scalarBytes, kSharedAlignment) +
         llvm::alignTo(scalarBytes * getPartialPitch(), kSharedAlignment);
}

int64_t AttentionShape::getPartialPitch() const {
  constexpr int64_t kPadding = 4;
  return depth + (hasQueryColumns() ? kPadding : 0);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Makes the id of the thread opaque to compilers by a shuffle of the value
/// with itself, so that values that depend on the id are computed after this
/// point. Otherwise, a compiler would compute them before the loop over vCTAs,
/// and they would occupy registers that the loop needs.
static Value makeOpaque(ImplicitLocOpBuilder &builder, Value thread,
                        int64_t warpSize) {
  Type i32 = builder.getI32Type();
  Value narrow = arith::IndexCastOp::create(builder, i32, thread);
  Value width = arith::ConstantIntOp::create(builder, warpSize, 32);
  Value inWarp = arith::RemUIOp::create(builder, narrow, width);
  auto shuffle = gpu::ShuffleOp::create(builder, narrow, inWarp, width,
                                        gpu::ShuffleMode::IDX);
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                      shuffle.getShuffleResult());
}

static void createWarpgroupLoop(ImplicitLocOpBuilder &builder,
                                const AttentionOps &attention,
                                const AttentionShape &shape) {
  auto type = MemRefType::get({shape.getBytes() / kAccumulatorBytes},
                              builder.getF32Type());
  Value memory = createTemporary(builder, type, kStageAlignment);
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, shape.getThreads());
  setFullRegisterPressure(thread.getParentBlock()->getParentOp());
  buildAttentionWarpgroups(builder, attention, shape, memory,
                           makeOpaque(builder, thread, shape.getWarpSize()));
}

void ark::createAttentionLoops(ImplicitLocOpBuilder &builder,
                               const AttentionOps &attention,
                               const AttentionShape &shape) {
  if (shape.hasWarpgroups())
    return createWarpgroupLoop(builder, attention, shape);
  SmallVector<Value> memory(3);
  if (shape.hasPartialResults())
    for (auto [buffer, type] :
         llvm::zip(memory, getBufferTypes(builder.getContext(), shape)))
      buffer = createTemporary(builder, type, kSharedAlignment);
  AttentionBuffers buffers{memory[0], memory[1], memory[2]};
  if (shape.keyStages > 0)
    buffers.stages = createTemporary(
        builder, getStageType(attention.getElementType(), shape),
        kSharedAlignment);
  SmallVector<decltype(&buildAttentionRows), 2> loops = {
      shape.hasFewRows()        ? buildAttentionStreams
      : shape.hasQueryColumns() ? buildAttentionColumns
                                : buildAttentionBlocks};
  if (shape.hasPartialResults())
    loops.push_back(buildAttentionRows);
  for (auto *build : loops) {
    OpBuilder::InsertionGuard guard(builder);
    Value thread = createMappedLoop(builder, shape.getThreads());
    if (!shape.hasFewRows())
      setFullRegisterPressure(thread.getParentBlock()->getParentOp());
    build(builder, attention, shape, buffers,
          makeOpaque(builder, thread, shape.getWarpSize()));
  }
}
