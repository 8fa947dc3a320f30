//===- StoredStages.cpp - Stages that threads store -----------------------===//

#include "passes/target/matmul/StoredStages.h"

#include "lib/backend/GpuInstructions.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;
/// Bytes of shared memory that eight threads read or store at once.
static constexpr int64_t kAccessBytes = 8 * kLoadBytes;

static int64_t getRowBytes(const StoredShape &shape) {
  return shape.stageDepth * kElementBytes;
}
static int64_t getChunksPerRow(const StoredShape &shape) {
  return getRowBytes(shape) / kLoadBytes;
}

StoredStages::StoredStages(ImplicitLocOpBuilder &builder,
                           const MatmulTile &product, const StoredShape &shape,
                           Value memory, Value thread)
    : builder(builder), product(product), shape(shape) {
  shared = createSpacePointer(builder, memory, kSharedSpace);
  addOperand(product.left, shape.getRows(), /*firstRow=*/0, thread);
  addOperand(product.right, shape.getColumns(), shape.getRows(), thread);
}

Value StoredStages::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

Value StoredStages::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value StoredStages::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(builder, a, constant(b));
}

/// Returns the distance of a chunk from the start of a stage. The index of a
/// chunk is combined with the index of the group of rows that fill all banks.
Value StoredStages::getSwizzledBytes(Value row, Value chunk) {
  int64_t chunksPerRow = getChunksPerRow(shape);
  Value group = arith::DivUIOp::create(
      builder, row, constant(kAccessBytes / getRowBytes(shape)));
  Value key = arith::RemUIOp::create(builder, group, constant(chunksPerRow));
  Value place = arith::XOrIOp::create(builder, chunk, key);
  return add(multiply(row, getRowBytes(shape)), multiply(place, kLoadBytes));
}

/// Returns true if all rows of an operand lie within 2^31 bytes.
static bool isNear(Value buffer, int64_t rows) {
  auto [strides, offset] =
      cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return !ShapedType::isDynamic(strides.front()) &&
         rows * strides.front() * kElementBytes <
             std::numeric_limits<int32_t>::max();
}

/// Divides the chunks of an operand among the threads. Threads that are left
/// over copy rows that other threads copy, too. Rows beyond the end are copies
/// of the last row, whose products are not used.
void StoredStages::addOperand(Value buffer, int64_t rows, int64_t firstRow,
                              Value thread) {
  int64_t chunksPerRow = getChunksPerRow(shape);
  int64_t rowsPerLoad = shape.threads / chunksPerRow;
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value pitch = multiply(metadata.getStrides().front(), kElementBytes);
  pointers.push_back(getGpuInstructions(builder).createWarpPointer(
      builder, builder.getLoc(),
      createSpacePointer(builder, buffer, kGlobalSpace)));
  Value threadRow =
      arith::DivUIOp::create(builder, thread, constant(chunksPerRow));
  Value chunk = arith::RemUIOp::create(builder, thread, constant(chunksPerRow));
  Value k = multiply(chunk, kElementsPerLoad);
  for (int64_t first = 0; first < rows; first += rowsPerLoad) {
    Value row = add(threadRow, constant(first));
    if (first + rowsPerLoad > rows)
      row = arith::RemUIOp::create(builder, row, constant(rows));
    Value target = getSwizzledBytes(add(row, constant(firstRow)), chunk);
    if (cast<MemRefType>(buffer.getType()).getDimSize(0) != rows) {
      Value last = arith::SubIOp::create(
          builder, memref::DimOp::create(builder, buffer, 0), constant(1));
      row = arith::MinUIOp::create(builder, row, last);
    }
    chunks.push_back({static_cast<unsigned>(pointers.size() - 1),
                      arith::MulIOp::create(builder, row, pitch), target, k,
                      isNear(buffer, rows)});
  }
}

/// Computes a distance with 32 bits, which loads of AMD GPUs add to an address
/// that all threads have in common.
Value StoredStages::narrow(Value distance) {
  return arith::IndexCastOp::create(builder, builder.getI32Type(), distance);
}

bool StoredStages::isRagged() const {
  return product.depth % shape.stageDepth != 0;
}

Value StoredStages::loadWords(Value base, Value offset) {
  auto words = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  if (offset.getType().isInteger(32))
    offset =
        arith::IndexCastUIOp::create(builder, builder.getIndexType(), offset);
  return LLVM::LoadOp::create(builder, words,
                              createOffset(builder, base, offset), kLoadBytes);
}

SmallVector<Value> StoredStages::load(Value k) {
  return llvm::map_to_vector(chunks, [&](const Chunk &chunk) -> Value {
    Value base = createOffset(builder, pointers[chunk.operand],
                              multiply(k, kElementBytes));
    Value inRow = chunk.k;
    if (isRagged()) {
      Value most = arith::SubIOp::create(
          builder, constant(product.depth - kElementsPerLoad), k);
      inRow = arith::MinSIOp::create(builder, inRow, most);
    }
    Value offset = add(chunk.offset, multiply(inRow, kElementBytes));
    Value loaded = loadWords(base, chunk.isNear ? narrow(offset) : offset);
    if (!isRagged())
      return loaded;
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                              add(k, chunk.k), constant(product.depth));
    return arith::SelectOp::create(
        builder, isThere, loaded,
        arith::ConstantOp::create(builder,
                                  builder.getZeroAttr(loaded.getType())));
  });
}

//===----------------------------------------------------------------------===//
// Places that move along K
//===----------------------------------------------------------------------===//

std::optional<StoredStages::Cursor> StoredStages::createCursor(int64_t k) {
  if (isRagged() ||
      !llvm::all_of(chunks, [](const Chunk &chunk) { return chunk.isNear; }))
    return std::nullopt;
  Cursor cursor{pointers, {}};
  advance(cursor, k);
  for (const Chunk &chunk : chunks)
    cursor.distances.push_back(
        narrow(add(chunk.offset, multiply(chunk.k, kElementBytes))));
  return cursor;
}

void StoredStages::keepDistances(Cursor &cursor) {
  const GpuInstructions &instructions = getGpuInstructions(builder);
  for (Value &distance : cursor.distances)
    distance =
        instructions.createOpaqueNumber(builder, builder.getLoc(), distance);
}

void StoredStages::advance(Cursor &cursor, int64_t elements) {
  for (Value &pointer : cursor.pointers)
    pointer =
        createOffset(builder, pointer, constant(elements * kElementBytes));
}

SmallVector<Value> StoredStages::load(const Cursor &cursor, int64_t elements) {
  Cursor moved = cursor;
  advance(moved, elements);
  return llvm::map_to_vector(
      llvm::zip(chunks, cursor.distances), [&](auto pair) -> Value {
        auto [chunk, distance] = pair;
        return loadWords(moved.pointers[chunk.operand], distance);
      });
}

void StoredStages::store(ValueRange values, int64_t stage) {
  for (auto [chunk, value] : llvm::zip(chunks, values))
    LLVM::StoreOp::create(
        builder, value,
        createOffset(
            builder, shared,
            add(chunk.target, constant(stage * shape.getStageBytes()))),
        kLoadBytes);
}

Value StoredStages::read(int64_t stage, Value row, int64_t distance,
                         Value chunk) {
  Value bytes = add(
      getSwizzledBytes(row, chunk),
      constant(stage * shape.getStageBytes() + distance * getRowBytes(shape)));
  auto words = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  return LLVM::LoadOp::create(builder, words,
                              createOffset(builder, shared, bytes), kLoadBytes);
}
