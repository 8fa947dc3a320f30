//===- WarpgroupLoops.cpp - wgmma products of a CTA -----------------------===//

#include "passes/target/warpgroups/WarpgroupLoops.h"

#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/tensor_maps/TensorMaps.h"
#include "passes/target/warpgroups/CpAsyncBuilder.h"
#include "passes/target/warpgroups/SplitBuilder.h"
#include "passes/target/warpgroups/TmaCopyBuilder.h"
#include "passes/target/warpgroups/WarpgroupBuilder.h"

#include "lib/analysis/ProductTiles.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the stages. Stages in flight hide the latency of DRAM: on an
/// H200, a product of 128 x 4096 x 14336 in tiles of 64 x 64 takes 77 us with 8
/// or 12 stages, and 105 us with 4.
static constexpr int64_t kMaxStages = 8;
/// Lower bound of the stages: one to multiply, and two in flight.
static constexpr int64_t kMinStages = 3;
/// Smallest tile in elements, and largest K, for which TMA copies are faster
/// (measured on an H200).
static constexpr int64_t kMinMapTile = 256 * 128;
static constexpr int64_t kMaxMapDepth = 2048;
/// Padding of accumulator rows in elements. It lets half a warp store to
/// different banks at once.
static constexpr int64_t kPadding = 8;

//===----------------------------------------------------------------------===//
// Division of the work
//===----------------------------------------------------------------------===//

int64_t WarpgroupShape::getTermBytes() const {
  return (rows + numProducts * columns) * kStageRowBytes;
}

static int64_t getAccumulatorBytes(const WarpgroupShape &shape) {
  return shape.accumulator.getIntOrFloatBitWidth() / 8;
}

static int64_t getAccumulatorsBytes(const WarpgroupShape &shape) {
  return shape.rows * (shape.columns + kPadding) * getAccumulatorBytes(shape);
}

void WarpgroupShape::roundAccumulators(FloatType type) {
  if (type && terms == 1)
    accumulator = type;
}

int64_t WarpgroupShape::getEarlyStages() const {
  int64_t occupied = llvm::divideCeil(numProducts * getAccumulatorsBytes(*this),
                                      getStageBytes());
  return std::clamp<int64_t>(stages - occupied, 0, getStagesAhead());
}

int64_t WarpgroupShape::getRecordsBegin() const {
  return std::max(stages * getStageBytes(),
                  numProducts * getAccumulatorsBytes(*this));
}

int64_t WarpgroupShape::getBarriersBegin() const {
  return getRecordsBegin() + (1 + numProducts) * kOperandRecordBytes;
}

int64_t WarpgroupShape::getBytes() const {
  return hasMaps ? getBarriersBegin() + stages * kStageBarrierBytes
                 : getRecordsBegin();
}

static bool isInGlobalMemory(const StagedOperand &operand) {
  return !getRoot(operand.buffer).getDefiningOp<memref::AllocaOp>();
}

/// Returns true if the operand has as many rows as a stage, and whole warps
/// copy the rows.
static bool isEven(const StagedOperand &operand, int64_t warpSize) {
  int64_t perRow = kStageRowBytes / kLoadBytes;
  return !operand.isClipped() && operand.rows * perRow % warpSize == 0;
}

/// Returns true if a warpgroup multiplies whole panels, `groupRows` of the
/// stage rows, and if the rows that `threads` copy at once lie in one panel.
static bool hasWholePanels(int64_t groupRows, int64_t threads) {
  int64_t perRow = kStageRowBytes / kLoadBytes;
  return groupRows % kPanelElements == 0 &&
         kStageDepth % (threads / perRow) == 0;
}

/// Returns true if threads can copy the stages of an operand. An operand may be
/// clipped, unless the threads split its elements.
static bool canCopy(const StagedOperand &operand, const WarpgroupShape &shape,
                    int64_t groupRows, int64_t threads) {
  return isInGlobalMemory(operand) &&
         (shape.terms == 1 || isEven(operand, shape.getWarpSize())) &&
         (operand.major == Major::K || hasWholePanels(groupRows, threads));
}

/// Returns true if no operand is clipped.
static bool areWhole(ArrayRef<MatmulTile> products,
                     const WarpgroupShape &shape) {
  return llvm::all_of(products, [&](const MatmulTile &product) {
    StagedOperand left{product.left, shape.rows, product.leftMajor},
        right{product.right, shape.columns, product.rightMajor};
    return !product.convolution && !left.isClipped() && !right.isClipped();
  });
}

/// Returns an upper bound of the bytes that are used in addition to stages and
/// accumulators. A temporary occupies whole units of its alignment.
static int64_t getBesideBytes(const WarpgroupShape &shape) {
  return llvm::alignTo((1 + shape.numProducts) * kOperandRecordBytes +
                           kMaxStages * kStageBarrierBytes,
                       kStageAlignment);
}

/// Returns true if TMA copies are faster according to benchmarks/log.md: with
/// stages of the largest size that fits. Copies of smaller stages arrive too
/// late, and products with a larger K become slower.
static bool areMapsFast(const WarpgroupShape &shape,
                        const MatmulTile &product) {
  return shape.numProducts == 1 && shape.rows * shape.columns >= kMinMapTile &&
         product.depth <= kMaxMapDepth;
}

static bool hasMap(const StagedOperand &operand) {
  return TensorMap::match(operand.buffer, operand.getBoxRows()).has_value();
}

static bool haveMaps(ArrayRef<MatmulTile> products) {
  const MatmulTile &first = products.front();
  return hasMap({first.left, first.rows, first.leftMajor}) &&
         llvm::all_of(products, [](const MatmulTile &product) {
           return hasMap({product.right, product.columns, product.rightMajor});
         });
}

/// Returns true if single warps can read the operands.
static bool canUseWarps(ArrayRef<MatmulTile> products) {
  return llvm::all_of(products, [](const MatmulTile &product) {
    return product.isKMajor() && !product.isSplit();
  });
}

/// Returns true if a right operand lies across K.
static bool hasPanels(ArrayRef<MatmulTile> products) {
  return llvm::any_of(products, [](const MatmulTile &product) {
    return product.rightMajor == Major::MN;
  });
}

/// Returns the number of warpgroups across the result. Products whose operands
/// single warps cannot read use fewer warpgroups if the columns cannot be
/// divided evenly.
static int64_t countAcross(ArrayRef<MatmulTile> products,
                           const WarpgroupShape &shape, bool canWarpsRead) {
  int64_t across = shape.groups / shape.down;
  if (shape.canCopyOnly())
    across = countWarpgroupsAcross(shape.columns, products.front().depth,
                                   shape.numProducts, across);
  int64_t unit = hasPanels(products) ? kPanelElements : shape.mma.getN();
  while (!canWarpsRead && across > 1 && shape.columns % (across * unit) != 0)
    across /= 2;
  return across;
}

/// Chooses the number of stages in `room` bytes. Threads copy few stages, since
/// TMA copies would arrive too late. Returns false if the stages do not fit.
static bool chooseStages(WarpgroupShape &shape, const MatmulTile &product,
                         int64_t room, TensorMapUse maps) {
  int64_t wanted = std::max(product.depth / kStageDepth, kMinStages);
  auto count = [&] {
    int64_t beside = shape.hasMaps ? getBesideBytes(shape) : 0;
    return std::min(
        {kMaxStages, (room - beside) / shape.getStageBytes(), wanted});
  };
  shape.stages = count();
  if (shape.stages <= kFewStages && maps != TensorMapUse::Always) {
    shape.hasMaps = false;
    shape.stages = count();
  }
  bool fillsFew = product.depth / kStageDepth >= kFewStages - 1;
  shape.stagesBehind =
      !shape.hasMaps && shape.stages <= kFewStages && fillsFew ? 0 : 1;
  return shape.stages >= kMinStages;
}

std::optional<WarpgroupShape>
WarpgroupShape::choose(ArrayRef<MatmulTile> products, MmaAttr mma,
                       int64_t threads, int64_t room, TensorMapUse maps) {
  const MatmulTile &first = products.front();
  WarpgroupShape shape{};
  shape.mma = mma;
  shape.accumulator = Float32Type::get(mma.getContext());
  // Warps beyond the last whole warpgroup would have no work.
  if (threads % shape.getGroupThreads() != 0)
    return std::nullopt;
  shape.groups = threads / shape.getGroupThreads();
  bool canWarpsRead = canUseWarps(products);
  bool isPadded = !first.isSplit() && !first.isSkinny();
  shape.rows =
      isPadded ? llvm::alignTo(first.rows, shape.getGroupRows()) : first.rows;
  shape.columns = isPadded && hasPanels(products)
                      ? llvm::alignTo(first.columns, kPanelElements)
                      : first.columns;
  shape.numProducts = products.size();
  shape.down = shape.rows / shape.getGroupRows();
  if (shape.rows % shape.getGroupRows() != 0 || shape.groups % shape.down != 0)
    return std::nullopt;
  shape.terms = first.isSplit() ? kF32Terms : 1;
  // A TMA copy beyond the end of K would have a predicate that is never true.
  bool fillsStages = first.depth / kStageDepth >= kMinStages;
  shape.hasMaps = maps != TensorMapUse::Never && !first.isSplit() &&
                  areWhole(products, shape) && fillsStages &&
                  shape.numProducts < shape.groups && haveMaps(products) &&
                  (maps == TensorMapUse::Always || areMapsFast(shape, first));
  shape.across = countAcross(products, shape, canWarpsRead);
  int64_t splitUnit = SplitBuilder::getRowsAtOnce(threads);
  auto isSupported = [&](const MatmulTile &product) {
    return product.isPlain() ||
           (product.isSplit() && product.rows % splitUnit == 0 &&
            product.columns % splitUnit == 0);
  };
  bool isWhole =
      isSupported(first) && shape.columns % (shape.across * mma.getN()) == 0 &&
      first.depth % kStageDepth == 0 && kStageDepth % mma.getK() == 0 &&
      canCopy({first.left, first.rows, first.leftMajor}, shape,
              shape.getGroupRows(), threads) &&
      llvm::all_of(products, [&](const MatmulTile &product) {
        return isSupported(product) && product.columns == first.columns &&
               canCopy({product.right, shape.columns, product.rightMajor},
                       shape, shape.getGroupColumns(), threads);
      });
  if (!isWhole ||
      shape.numProducts * shape.getGroupColumns() > kMaxGroupColumns)
    return std::nullopt;
  shape.stagesBehind = 1;
  if (first.isSplit())
    shape.stages = kSplitStages;
  else if (!chooseStages(shape, first, room, maps))
    return std::nullopt;
  if (shape.getBytes() > room)
    return std::nullopt;
  return shape;
}

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

/// Returns the buffer of a product's accumulators, which is used after all
/// warps have read the stages.
static Value createAccumulators(ImplicitLocOpBuilder &builder,
                                const WarpgroupShape &shape, Value memory,
                                int64_t number) {
  int64_t offset =
      number * getAccumulatorsBytes(shape) / getAccumulatorBytes(shape);
  SmallVector<int64_t> sizes = {shape.rows, shape.columns},
                       strides = {shape.columns + kPadding, 1};
  auto type = MemRefType::get(
      sizes, shape.accumulator,
      StridedLayoutAttr::get(builder.getContext(), offset, strides));
  return memref::ReinterpretCastOp::create(builder, type, memory, offset, sizes,
                                           strides);
}

/// Returns the accumulators of a convolution as its result: one or several rows
/// of columns for each filter that exists.
static Value createRows(ImplicitLocOpBuilder &builder,
                        const MatmulTile &product, const WarpgroupShape &shape,
                        Value memory, int64_t number) {
  const RowConvolution &convolution = *product.convolution;
  int64_t offset =
      number * getAccumulatorsBytes(shape) / getAccumulatorBytes(shape);
  SmallVector<int64_t> sizes = {shape.rows, convolution.rows,
                                convolution.columns},
                       strides = {shape.columns + kPadding,
                                  convolution.getPitch(), 1};
  if (cast<MemRefType>(product.out.getType()).getRank() == 2) {
    sizes.erase(sizes.begin() + 1);
    strides.erase(strides.begin() + 1);
  }
  auto type = MemRefType::get(
      sizes, shape.accumulator,
      StridedLayoutAttr::get(builder.getContext(), offset, strides));
  Value all = memref::ReinterpretCastOp::create(builder, type, memory, offset,
                                                sizes, strides);
  SmallVector<OpFoldResult> begins(sizes.size(), builder.getIndexAttr(0)),
      ones(sizes.size(), builder.getIndexAttr(1)),
      extents = getAsIndexOpFoldResult(builder.getContext(), sizes);
  extents.front() =
      memref::getMixedSize(builder, builder.getLoc(), product.left, 0);
  if (isConstantIntValue(extents.front(), shape.rows))
    return all;
  return memref::SubViewOp::create(builder, all, begins, extents, ones);
}

/// Returns the accumulators of the rows and columns that exist.
static Value dropPadding(ImplicitLocOpBuilder &builder,
                         const MatmulTile &product, Value accumulators) {
  auto getExtent = [&](Value operand, Major major) {
    return memref::getMixedSize(builder, builder.getLoc(), operand,
                                major == Major::K ? 0 : 1);
  };
  SmallVector<OpFoldResult> begins(2, builder.getIndexAttr(0)),
      ones(2, builder.getIndexAttr(1)),
      sizes = {getExtent(product.left, product.leftMajor),
               getExtent(product.right, product.rightMajor)};
  auto type = cast<MemRefType>(accumulators.getType());
  if (isEqualConstantIntOrValueArray(
          sizes, getAsIndexOpFoldResult(builder.getContext(), type.getShape())))
    return accumulators;
  return memref::SubViewOp::create(builder, accumulators, begins, sizes, ones);
}

SmallVector<Value> ark::createWarpgroupLoops(ImplicitLocOpBuilder &builder,
                                             ArrayRef<MatmulTile> products,
                                             const WarpgroupShape &shape,
                                             int64_t threads) {
  auto type = MemRefType::get({shape.getBytes() / getAccumulatorBytes(shape)},
                              shape.accumulator);
  Value memory = createTemporary(builder, type, kStageAlignment);
  SmallVector<Value> accumulators, results;
  for (int64_t number = 0; number < shape.numProducts; ++number) {
    accumulators.push_back(createAccumulators(builder, shape, memory, number));
    const MatmulTile &product = products[number];
    results.push_back(product.convolution
                          ? createRows(builder, product, shape, memory, number)
                          : dropPadding(builder, product, accumulators.back()));
  }
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, threads);
  setHighRegisterPressure(thread.getParentBlock()->getParentOp());
  if (shape.terms > 1)
    SplitBuilder(builder, products, shape, memory, thread, threads)
        .build(accumulators);
  else if (shape.hasMaps)
    TmaCopyBuilder(builder, products, shape, memory, thread, threads)
        .build(accumulators);
  else
    CpAsyncBuilder(builder, products, shape, memory, thread, threads)
        .build(accumulators);
  return results;
}
