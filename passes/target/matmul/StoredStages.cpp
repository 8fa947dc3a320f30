//===- StoredStages.cpp - Stages that threads store -----------------------===//

#include "passes/target/matmul/StoredStages.h"

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
  Value pointer = createSpacePointer(builder, buffer, kGlobalSpace);
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
    chunks.push_back({pointer, arith::MulIOp::create(builder, row, pitch),
                      target, k, isNear(buffer, rows)});
  }
}

/// Computes a distance with 32 bits, which loads of AMD GPUs add to an address
/// that all threads have in common.
Value StoredStages::narrow(Value distance) {
  Value low =
      arith::IndexCastOp::create(builder, builder.getI32Type(), distance);
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), low);
}

SmallVector<Value> StoredStages::load(Value k) {
  bool isRagged = product.depth % shape.stageDepth != 0;
  auto words = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  return llvm::map_to_vector(chunks, [&](const Chunk &chunk) -> Value {
    // The address is a sum of a number that all threads have and of one that
    // does not change.
    Value base =
        createOffset(builder, chunk.pointer, multiply(k, kElementBytes));
    Value inRow = chunk.k;
    if (isRagged) {
      Value most = arith::SubIOp::create(
          builder, constant(product.depth - kElementsPerLoad), k);
      inRow = arith::MinSIOp::create(builder, inRow, most);
    }
    Value offset = add(chunk.offset, multiply(inRow, kElementBytes));
    if (chunk.isNear)
      offset = narrow(offset);
    Value loaded = LLVM::LoadOp::create(
        builder, words, createOffset(builder, base, offset), kLoadBytes);
    if (!isRagged)
      return loaded;
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                              add(k, chunk.k), constant(product.depth));
    return arith::SelectOp::create(
        builder, isThere, loaded,
        arith::ConstantOp::create(builder, builder.getZeroAttr(words)));
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
