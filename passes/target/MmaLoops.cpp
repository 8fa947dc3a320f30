//===- MmaLoops.cpp - Products by the warps of a CTA ----------------------===//

#include "passes/target/MmaLoops.h"

#include "passes/target/Bodies.h"
#include "passes/target/Lowerings.h"
#include "passes/target/MappedLoop.h"
#include "passes/target/MmaBuilder.h"
#include "passes/target/MmaStages.h"
#include "passes/target/SharedMemory.h"
#include "passes/target/WideLoad.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// 32-bit registers of a thread for what is on its way.
static constexpr int64_t kRegistersInFlight = 64;
/// The same, where sums of many rows take as many.
static constexpr int64_t kRegistersBesideSums = 32;
static constexpr int64_t kMaxInFlight = 8;
/// Larger tiles are too much for the warps.
static constexpr int64_t kMostRows = 128;
static constexpr int64_t kMostColumns = 128;
/// Rows of sums in shared memory are this much longer: the banks of what a warp
/// stores at once differ.
static constexpr int64_t kPadding = 4;
static constexpr int64_t kSumBytes = 4;
/// What the parts of one product may take of an SM's memory.
static constexpr int64_t kMostPartsBytes = 80 * 1024;

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

/// Up to `most`, and so that nothing is left of `count`, if a number like that
/// is not much smaller.
static int64_t chooseDivisor(int64_t count, int64_t most) {
  for (int64_t divisor = most; divisor > most / 2; --divisor)
    if (count % divisor == 0)
      return divisor;
  return most;
}

bool MmaShape::fits() const {
  return getNumTiles() <= warps && getRows() <= kMostRows &&
         getColumns() <= kMostColumns;
}

/// Whether the warps can do all tiles of such a size at once, and have memory
/// for their parts.
bool MmaShape::setTile(const TensorProduct &product, int64_t units,
                       int64_t blocks) {
  this->units = units;
  this->blocks = blocks;
  acrossTiles = llvm::divideCeil(product.columns, units * kMmaColumns);
  downTiles = llvm::divideCeil(product.rows, blocks * kMmaRows);
  int64_t all = llvm::divideCeil(product.depth, kPieceElements);
  int64_t tiles = acrossTiles * downTiles;
  parts = chooseDivisor(
      all, std::clamp<int64_t>(std::min(warps / tiles, mostParts), 1, all));
  return fits() &&
         parts * getRows() * getColumns() * kSumBytes <= kMostPartsBytes;
}

/// Few rows stay in the registers of every warp. Of more, a warp has as many
/// that loads serve several instructions; of two products, as many of both.
void MmaShape::chooseTile(ArrayRef<TensorProduct> products) {
  const TensorProduct &product = products.front();
  if (product.isSkinny()) {
    setTile(product, 1, llvm::divideCeil(product.rows, kMmaRows));
    return;
  }
  int64_t mostUnits = 2 / products.size();
  for (auto [units, blocks] :
       {std::pair<int64_t, int64_t>{2, 4}, {1, 4}, {1, 2}})
    if (units <= mostUnits && setTile(product, units, blocks))
      return;
  setTile(product, mostUnits, 4);
}

/// 32-bit registers that a thread's loads of one row of `factor` fill.
static int64_t getRegistersPerLoad(Value factor) {
  auto type = cast<MemRefType>(factor.getType());
  return kElementsPerLoad * type.getElementTypeBitWidth() / 32;
}

static MemRefType getPartsType(const TensorProduct &product,
                               const MmaShape &shape) {
  return MemRefType::get(
      {shape.parts, shape.getRows(), shape.getColumns() + kPadding},
      Float32Type::get(product.out.getContext()));
}

static int64_t getPartsBytes(const TensorProduct &product,
                             const MmaShape &shape) {
  return llvm::alignTo(getBufferBytes(getPartsType(product, shape)),
                       kSharedAlignment);
}

/// With as many parts as leave a thread `fitting` pieces, all of which it asks
/// for at once, what an SM has on its way are whole rows. Of all rows, a bit of
/// each at a time, memory brings less.
void MmaShape::takeTurns(ArrayRef<TensorProduct> products, int64_t fitting) {
  const TensorProduct &first = products.front();
  int64_t all = llvm::divideCeil(first.depth, kPieceElements);
  int64_t wanted = all / fitting, bytes = 0;
  if (!first.isSkinny() || all % fitting != 0 || wanted <= parts ||
      wanted > std::min(warps, mostParts) ||
      acrossTiles % (warps / wanted) != 0)
    return;
  MmaShape other(*this);
  other.parts = wanted;
  other.acrossTiles = warps / wanted;
  other.turns = acrossTiles / other.acrossTiles;
  for (const TensorProduct &product : products)
    bytes += getPartsBytes(product, other);
  if (bytes <= kMostPartsBytes)
    *this = other;
}

MmaShape::MmaShape(ArrayRef<TensorProduct> products, int64_t threads,
                   int64_t mostParts)
    : warps(threads / kWarpSize), mostParts(mostParts) {
  chooseTile(products);
  int64_t depth = products.front().depth;
  const TensorProduct &first = products.front();
  int64_t loaded =
      first.hasNearRows() ? 0 : blocks * getRegistersPerLoad(first.left);
  for (const TensorProduct &product : products)
    loaded += units * product.getLoads() * getRegistersPerLoad(product.right);
  int64_t registers =
      products.front().isSkinny() ? kRegistersInFlight : kRegistersBesideSums;
  int64_t fitting = std::clamp<int64_t>(registers / loaded, 1, kMaxInFlight);
  takeTurns(products, fitting);
  pieces = llvm::divideCeil(depth, parts * kPieceElements);
  inFlight = pieces <= fitting ? pieces : chooseDivisor(pieces, fitting);
  pieces = llvm::alignTo(pieces, inFlight);
  isRagged = parts * pieces * kPieceElements != depth;
}

int64_t ark::getMmaBytes(ArrayRef<TensorProduct> products, int64_t threads,
                         int64_t room) {
  MmaShape shape(products, threads);
  int64_t bytes = 0;
  for (const TensorProduct &product : products)
    bytes += getPartsBytes(product, shape);
  int64_t stages = MmaStages::choose(products, shape, threads, room);
  return std::max(bytes, MmaStages::getBytes(products, shape, stages));
}

//===----------------------------------------------------------------------===//
// All threads
//===----------------------------------------------------------------------===//

/// Buffers for parts, one after the other in the memory of the temporary.
static SmallVector<Value> createParts(ImplicitLocOpBuilder &builder,
                                      ArrayRef<TensorProduct> products,
                                      const MmaShape &shape, Value memory) {
  SmallVector<Value> buffers;
  int64_t offset = 0;
  for (const TensorProduct &product : products) {
    MemRefType type = getPartsType(product, shape);
    auto [strides, none] = type.getStridesAndOffset();
    auto view =
        MemRefType::get(type.getShape(), type.getElementType(),
                        StridedLayoutAttr::get(builder.getContext(),
                                               offset / kSumBytes, strides));
    buffers.push_back(memref::ReinterpretCastOp::create(
        builder, view, memory, offset / kSumBytes, type.getShape(), strides));
    offset += getPartsBytes(product, shape);
  }
  return buffers;
}

SmallVector<Value> ark::createMmaLoops(ImplicitLocOpBuilder &builder,
                                       ArrayRef<TensorProduct> products,
                                       int64_t threads, int64_t room) {
  MmaShape shape(products, threads);
  int64_t stages = MmaStages::choose(products, shape, threads, room);
  SmallVector<Value> buffers;
  Value memory;
  if (stages == 0) {
    for (const TensorProduct &product : products)
      buffers.push_back(createTemporary(builder, getPartsType(product, shape),
                                        kSharedAlignment));
  } else {
    int64_t bytes = getMmaBytes(products, threads, room);
    memory = createTemporary(
        builder, MemRefType::get({bytes / kSumBytes}, builder.getF32Type()),
        kSharedAlignment);
    buffers = createParts(builder, products, shape, memory);
  }
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, threads);
  if (!products.front().isSkinny())
    setFillsRegisters(thread.getParentBlock()->getParentOp());
  MmaBuilder mma(builder, products, shape, buffers);
  if (stages == 0)
    mma.build(thread, threads);
  else
    mma.buildStaged(thread, threads, memory, stages);
  return buffers;
}

void ark::createDirectMmaLoops(ImplicitLocOpBuilder &builder,
                               const TensorProduct &product, int64_t threads) {
  MmaShape shape(product, threads, /*mostParts=*/1);
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, threads);
  MmaBuilder(builder, product, shape, product.out).build(thread, threads);
}
