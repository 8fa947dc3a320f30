//===- MmaLoops.cpp - mma products by the warps of a CTA ------------------===//

#include "passes/target/matmul/MmaLoops.h"

#include "passes/target/matmul/MmaBuilder.h"
#include "passes/target/matmul/MmaStages.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the 32-bit registers per thread for loads in flight.
static constexpr int64_t kRegistersInFlight = 64;
/// Upper bound for products of many rows, whose accumulators need registers,
/// too.
static constexpr int64_t kRegistersBesideAccumulators = 32;
static constexpr int64_t kMaxInFlight = 8;
/// Upper bound of the rows: larger tiles exceed the registers for accumulators.
static constexpr int64_t kMaxRows = 128;
static constexpr int64_t kMaxColumns = 128;
/// Padding of accumulator rows in shared memory, in elements. It lets a warp
/// store to different banks at once.
static constexpr int64_t kPadding = 4;
static constexpr int64_t kAccumulatorBytes = 4;
/// Upper bound of the bytes for the partial sums of one product.
static constexpr int64_t kMaxPartialSumsBytes = 80 * 1024;

//===----------------------------------------------------------------------===//
// Division of the work
//===----------------------------------------------------------------------===//

/// Returns the largest divisor of `count` up to `most`, or `most` if that
/// divisor is at most half of it.
static int64_t chooseDivisor(int64_t count, int64_t most) {
  for (int64_t divisor = most; divisor > most / 2; --divisor)
    if (count % divisor == 0)
      return divisor;
  return most;
}

bool MmaShape::fits() const {
  return getNumTiles() <= warps && getRows() <= kMaxRows &&
         getColumns() <= kMaxColumns;
}

/// Sets the tile of a warp. Returns true if all tiles can be computed at once,
/// and their partial sums fit into memory.
bool MmaShape::setTile(const MatmulTile &product, int64_t units,
                       int64_t blocks) {
  this->units = units;
  this->blocks = blocks;
  acrossTiles = llvm::divideCeil(product.columns, units * unitColumns);
  downTiles = llvm::divideCeil(product.rows, blocks * unitRows);
  int64_t all = llvm::divideCeil(product.depth, sliceElements);
  int64_t tiles = acrossTiles * downTiles;
  parts = chooseDivisor(
      all, std::clamp<int64_t>(std::min(warps / tiles, maxParts), 1, all));
  return fits() && parts * getRows() * getColumns() * kAccumulatorBytes <=
                       kMaxPartialSumsBytes;
}

/// Chooses the tile of a warp. With few rows, every warp holds all of them.
/// With more rows, a warp gets enough rows to use each load in several
/// instructions. With two products, a warp gets the same columns of both.
void MmaShape::chooseTile(ArrayRef<MatmulTile> products) {
  const MatmulTile &product = products.front();
  if (product.isSkinny()) {
    setTile(product, 1, llvm::divideCeil(product.rows, unitRows));
    return;
  }
  int64_t mostUnits = 2 / products.size();
  for (auto [units, blocks] :
       {std::pair<int64_t, int64_t>{2, 4}, {1, 4}, {1, 2}})
    if (units <= mostUnits && setTile(product, units, blocks))
      return;
  setTile(product, mostUnits, 4);
}

/// Returns the 32-bit registers per thread of one load of a row of `operand`.
static int64_t getRegistersPerLoad(Value operand, int64_t elementsPerLoad) {
  auto type = cast<MemRefType>(operand.getType());
  return elementsPerLoad * type.getElementTypeBitWidth() / 32;
}

static MemRefType getPartialSumsType(const MatmulTile &product,
                                     const MmaShape &shape) {
  return MemRefType::get(
      {shape.parts, shape.getRows(), shape.getColumns() + kPadding},
      product.getAccumulatorType());
}

static int64_t getPartialSumsBytes(const MatmulTile &product,
                                   const MmaShape &shape) {
  return llvm::alignTo(getBufferBytes(getPartialSumsType(product, shape)),
                       kSharedAlignment);
}

/// Chooses the number of split-K parts so that a thread has only `fitting`
/// slices of each tile, and issues the loads of all these slices at once. The
/// warps then iterate over N. An SM has whole rows in flight, which memory
/// delivers faster than short ranges of all rows.
void MmaShape::iterateOverN(ArrayRef<MatmulTile> products, int64_t fitting) {
  const MatmulTile &first = products.front();
  int64_t all = llvm::divideCeil(first.depth, sliceElements);
  int64_t wanted = all / fitting, bytes = 0;
  if (!first.isSkinny() || all % fitting != 0 || wanted <= parts ||
      wanted > std::min(warps, maxParts) || acrossTiles % (warps / wanted) != 0)
    return;
  MmaShape other(*this);
  other.parts = wanted;
  other.acrossTiles = warps / wanted;
  other.nIterations = acrossTiles / other.acrossTiles;
  for (const MatmulTile &product : products)
    bytes += getPartialSumsBytes(product, other);
  if (bytes <= kMaxPartialSumsBytes)
    *this = other;
}

MmaShape::MmaShape(ArrayRef<MatmulTile> products, int64_t threads,
                   int64_t maxParts)
    : unitColumns(products.front().getUnitColumns()),
      unitRows(products.front().getUnitRows()),
      sliceElements(products.front().getSliceElements()),
      elementBytes(products.front().getElementBytes()),
      warpSize(products.front().getWarpSize()), warps(threads / warpSize),
      maxParts(maxParts) {
  chooseTile(products);
  int64_t depth = products.front().depth;
  const MatmulTile &first = products.front();
  int64_t perLoad = first.getElementsPerLoad();
  int64_t loaded = first.hasTemporaryRows()
                       ? 0
                       : blocks * getRegistersPerLoad(first.left, perLoad);
  for (const MatmulTile &product : products)
    loaded += units * product.getLoads() *
              getRegistersPerLoad(product.right, perLoad);
  int64_t registers = products.front().isSkinny()
                          ? kRegistersInFlight
                          : kRegistersBesideAccumulators;
  int64_t fitting = std::clamp<int64_t>(registers / loaded, 1, kMaxInFlight);
  iterateOverN(products, fitting);
  slices = llvm::divideCeil(depth, parts * sliceElements);
  inFlight = slices <= fitting ? slices : chooseDivisor(slices, fitting);
  slices = llvm::alignTo(slices, inFlight);
  isRagged = parts * slices * sliceElements != depth;
}

int64_t ark::getMmaBytes(ArrayRef<MatmulTile> products, int64_t threads,
                         int64_t room) {
  MmaShape shape(products, threads);
  int64_t bytes = 0;
  for (const MatmulTile &product : products)
    bytes += getPartialSumsBytes(product, shape);
  int64_t stages = MmaStages::choose(products, shape, threads, room);
  return std::max(bytes, MmaStages::getBytes(products, shape, stages));
}

bool ark::canStageOperands(ArrayRef<MatmulTile> products, int64_t threads,
                           int64_t room) {
  MmaShape shape(products, threads);
  return MmaStages::choose(products, shape, threads, room) > 0;
}

//===----------------------------------------------------------------------===//
// All threads
//===----------------------------------------------------------------------===//

/// Creates the buffers of partial sums, one after the other in the memory of
/// the temporary.
static SmallVector<Value> createPartialSums(ImplicitLocOpBuilder &builder,
                                            ArrayRef<MatmulTile> products,
                                            const MmaShape &shape,
                                            Value memory) {
  SmallVector<Value> buffers;
  int64_t offset = 0;
  for (const MatmulTile &product : products) {
    MemRefType type = getPartialSumsType(product, shape);
    auto [strides, none] = type.getStridesAndOffset();
    auto view = MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(builder.getContext(), offset / kAccumulatorBytes,
                               strides));
    buffers.push_back(memref::ReinterpretCastOp::create(
        builder, view, memory, offset / kAccumulatorBytes, type.getShape(),
        strides));
    offset += getPartialSumsBytes(product, shape);
  }
  return buffers;
}

SmallVector<Value> ark::createMmaLoops(ImplicitLocOpBuilder &builder,
                                       ArrayRef<MatmulTile> products,
                                       int64_t threads, int64_t room) {
  MmaShape shape(products, threads);
  int64_t stages = MmaStages::choose(products, shape, threads, room);
  SmallVector<Value> buffers;
  Value memory;
  if (stages == 0) {
    for (const MatmulTile &product : products)
      buffers.push_back(createTemporary(
          builder, getPartialSumsType(product, shape), kSharedAlignment));
  } else {
    int64_t bytes = getMmaBytes(products, threads, room);
    memory =
        createTemporary(builder,
                        MemRefType::get({bytes / kAccumulatorBytes},
                                        products.front().getAccumulatorType()),
                        kSharedAlignment);
    buffers = createPartialSums(builder, products, shape, memory);
  }
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, threads);
  if (!products.front().isSkinny())
    setFullRegisterPressure(thread.getParentBlock()->getParentOp());
  std::unique_ptr<MatrixInstruction> instruction =
      MatrixInstruction::create(products.front().mma);
  MmaBuilder mma(builder, products, shape, *instruction, buffers);
  if (stages == 0)
    mma.build(thread, threads);
  else
    mma.buildStaged(thread, threads, memory, stages);
  return buffers;
}

void ark::createDirectMmaLoops(ImplicitLocOpBuilder &builder,
                               const MatmulTile &product, int64_t threads) {
  MmaShape shape(product, threads, /*maxParts=*/1);
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, threads);
  std::unique_ptr<MatrixInstruction> instruction =
      MatrixInstruction::create(product.mma);
  MmaBuilder(builder, product, shape, *instruction, product.out)
      .build(thread, threads);
}
