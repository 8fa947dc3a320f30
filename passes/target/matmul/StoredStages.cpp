//===- StoredStages.cpp - Stages that threads store -----------------------===//

#include "passes/target/matmul/StoredStages.h"

#include "lib/backend/GpuInstructions.h"
#include "lib/support/BufferView.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WarpCopy.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Bytes that threads read or store at once. Copied stages are for the 64 banks
/// of GPUs with such copies, and stored stages for 32 banks.
static int64_t getAccessBytes(const StoredShape &shape) {
  return (shape.copies ? 16 : 8) * kLoadBytes;
}
/// Elements along K that a thread transposes at once.
static constexpr int64_t kTransposedElements = 4;

/// Returns the number of elements of a load of an operand whose rows lie across
/// K: eight, or four if threads would load rows twice with eight.
static int64_t getElementsAcross(const StoredShape &shape, int64_t rows) {
  int64_t groups = shape.threads / (shape.stageDepth / kTransposedElements);
  return rows % (groups * 8) == 0 ? 8 : 4;
}

/// Returns the number of rows that all threads load or transpose at once.
static int64_t getRowsPerLoad(const StoredShape &shape, Major major,
                              int64_t rows) {
  if (major == Major::K)
    return shape.threads / shape.getChunksPerRow();
  return shape.threads / (shape.stageDepth / kTransposedElements) *
         getElementsAcross(shape, rows);
}

int64_t StoredStages::countLoadedBytes(const StoredShape &shape, Major major,
                                       int64_t rows) {
  int64_t loads = llvm::divideCeil(rows, getRowsPerLoad(shape, major, rows));
  if (major == Major::K)
    return loads * kLoadBytes;
  return loads * kTransposedElements * getElementsAcross(shape, rows) *
         shape.getElementBytes();
}

StoredStages::StoredStages(ImplicitLocOpBuilder &builder,
                           const MatmulTile &product, const StoredShape &shape,
                           Value memory, Value thread)
    : builder(builder), product(product), shape(shape) {
  shared = createSpacePointer(builder, memory, kSharedSpace);
  auto addOperand = [&](Value buffer, Major major, int64_t rows,
                        int64_t firstRow) {
    operands.push_back(createOperand(buffer, major, rows));
    if (shape.copies)
      addCopies(buffer, rows, firstRow, thread);
    else if (major == Major::K)
      addRows(buffer, rows, firstRow, thread);
    else
      addRowsAcross(buffer, rows, firstRow, thread);
  };
  addOperand(product.left, product.leftMajor, shape.getRows(), /*firstRow=*/0);
  addOperand(product.right, product.rightMajor, shape.getColumns(),
             shape.getRows());
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

/// Returns the number with which the indices of a row's chunks are combined:
/// the index of the group of rows that fill all banks.
Value StoredStages::getKey(Value row) {
  Value group = arith::DivUIOp::create(
      builder, row, constant(getAccessBytes(shape) / shape.getRowBytes()));
  return arith::RemUIOp::create(builder, group,
                                constant(shape.getChunksPerRow()));
}

/// Returns the distance of a chunk from the start of a stage.
Value StoredStages::getSwizzledBytes(Value row, Value chunk,
                                     int64_t elementsAcross) {
  if (elementsAcross)
    row = arith::XOrIOp::create(
        builder, row,
        arith::RemUIOp::create(
            builder,
            arith::DivUIOp::create(builder, row, constant(elementsAcross)),
            constant(2)));
  Value place = arith::XOrIOp::create(builder, chunk, getKey(row));
  return add(multiply(row, shape.getRowBytes()), multiply(place, kLoadBytes));
}

bool StoredStages::isNear(Value buffer, int64_t rows) {
  auto type = cast<MemRefType>(buffer.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  return !ShapedType::isDynamic(strides.front()) &&
         rows * strides.front() * getElementBytes(type.getElementType()) <
             std::numeric_limits<int32_t>::max();
}

StoredStages::Operand StoredStages::createOperand(Value buffer, Major major,
                                                  int64_t rows) {
  Operand operand;
  operand.elementsAcross =
      major == Major::MN ? getElementsAcross(shape, rows) : 0;
  operand.bytesOfK = constant(shape.getElementBytes());
  if (operand.elementsAcross) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
    operand.bytesOfK =
        multiply(metadata.getStrides().front(), shape.getElementBytes());
  }
  Value pointer = createSpacePointer(builder, buffer, kGlobalSpace);
  // Copies add more to both addresses, and distances are not negative.
  if (shape.copies)
    pointer = createOffset(builder, pointer, constant(-kMaxCopyBytes));
  operand.pointer = getGpuInstructions(builder).createWarpPointer(
      builder, builder.getLoc(), pointer);
  return operand;
}

/// Clamps a row of a tile to the last row, or to the last group of `unit` rows.
/// Products of rows beyond the end are not used.
Value StoredStages::clamp(Value row, Value buffer, int64_t dim, int64_t rows,
                          int64_t unit) {
  if (cast<MemRefType>(buffer.getType()).getDimSize(dim) == rows)
    return row;
  Value last = arith::SubIOp::create(
      builder, memref::DimOp::create(builder, buffer, dim), constant(1));
  if (unit > 1)
    last =
        multiply(arith::DivUIOp::create(builder, last, constant(unit)), unit);
  return arith::MinUIOp::create(builder, row, last);
}

/// Divides the chunks of an operand among the threads. Threads that are left
/// over copy rows that other threads copy, too.
void StoredStages::addRows(Value buffer, int64_t rows, int64_t firstRow,
                           Value thread) {
  int64_t chunksPerRow = shape.getChunksPerRow();
  int64_t rowsPerLoad = getRowsPerLoad(shape, Major::K, rows);
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value pitch =
      multiply(metadata.getStrides().front(), shape.getElementBytes());
  Value threadRow =
      arith::DivUIOp::create(builder, thread, constant(chunksPerRow));
  Value chunk = arith::RemUIOp::create(builder, thread, constant(chunksPerRow));
  int64_t perLoad = product.getElementsPerLoad();
  Value k = multiply(chunk, perLoad);
  for (int64_t first = 0; first < rows; first += rowsPerLoad) {
    Value row = add(threadRow, constant(first));
    if (first + rowsPerLoad > rows)
      row = arith::RemUIOp::create(builder, row, constant(rows));
    Value target = getSwizzledBytes(add(row, constant(firstRow)), chunk,
                                    /*elementsAcross=*/0);
    row = clamp(row, buffer, /*dim=*/0, rows, /*unit=*/1);
    stores.push_back({static_cast<unsigned>(chunks.size()), {target}});
    chunks.push_back({static_cast<unsigned>(operands.size() - 1),
                      arith::MulIOp::create(builder, row, pitch), k, perLoad,
                      isNear(buffer, rows)});
  }
}

/// Divides an operand whose rows lie across K among the threads, in groups of
/// eight or four rows of the stage and four elements of K. Neighbouring threads
/// have neighbouring elements of K, and hence store whole rows of a stage.
void StoredStages::addRowsAcross(Value buffer, int64_t rows, int64_t firstRow,
                                 Value thread) {
  int64_t groupsOfK = shape.stageDepth / kTransposedElements;
  int64_t rowsPerLoad = getRowsPerLoad(shape, Major::MN, rows);
  int64_t elements = operands.back().elementsAcross;
  Value pitch = operands.back().bytesOfK;
  Value group = arith::RemUIOp::create(builder, thread, constant(groupsOfK));
  Value k = multiply(group, kTransposedElements);
  Value chunk = arith::DivUIOp::create(builder, group, constant(2));
  Value half = multiply(arith::RemUIOp::create(builder, group, constant(2)),
                        kLoadBytes / 2);
  Value threadRow = multiply(
      arith::DivUIOp::create(builder, thread, constant(groupsOfK)), elements);
  for (int64_t first = 0; first < rows; first += rowsPerLoad) {
    Value row = add(threadRow, constant(first));
    if (first + rowsPerLoad > rows)
      row = arith::RemUIOp::create(builder, row, constant(rows));
    Store &store =
        stores.emplace_back(Store{static_cast<unsigned>(chunks.size()), {}});
    for (int64_t i = 0; i < elements; ++i)
      store.targets.push_back(add(
          getSwizzledBytes(add(row, constant(firstRow + i)), chunk, elements),
          half));
    Value offset = multiply(clamp(row, buffer, /*dim=*/1, rows, elements),
                            shape.getElementBytes());
    for (int64_t i = 0; i < kTransposedElements; ++i)
      chunks.push_back({static_cast<unsigned>(operands.size() - 1), offset,
                        add(k, constant(i)), /*elementsOfK=*/1,
                        isNear(buffer, shape.stageDepth)});
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

Value StoredStages::addDistance(Value base, Value offset) {
  if (offset.getType().isInteger(32))
    offset =
        arith::IndexCastUIOp::create(builder, builder.getIndexType(), offset);
  return createOffset(builder, base, offset);
}

Value StoredStages::loadWords(const Chunk &chunk, Value base, Value offset) {
  int64_t bytes =
      operands[chunk.operand].elementsAcross
          ? operands[chunk.operand].elementsAcross * shape.getElementBytes()
          : kLoadBytes;
  auto words = VectorType::get({bytes / 4}, builder.getI32Type());
  return LLVM::LoadOp::create(builder, words, addDistance(base, offset), bytes);
}

SmallVector<Value> StoredStages::load(Value k) {
  return llvm::map_to_vector(chunks, [&](const Chunk &chunk) -> Value {
    const Operand &operand = operands[chunk.operand];
    auto getBytes = [&](Value elements) -> Value {
      return arith::MulIOp::create(builder, elements, operand.bytesOfK);
    };
    Value base = createOffset(builder, operand.pointer, getBytes(k));
    Value ofK = chunk.k;
    if (isRagged()) {
      Value most = arith::SubIOp::create(
          builder, constant(product.depth - chunk.elementsOfK), k);
      ofK = arith::MinSIOp::create(builder, ofK, most);
    }
    Value offset = add(chunk.offset, getBytes(ofK));
    Value loaded =
        loadWords(chunk, base, chunk.isNear ? narrow(offset) : offset);
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
  Cursor cursor;
  for (const Operand &operand : operands)
    cursor.pointers.push_back(operand.pointer);
  advance(cursor, k);
  for (const Chunk &chunk : chunks)
    cursor.distances.push_back(
        narrow(add(chunk.offset,
                   arith::MulIOp::create(builder, chunk.k,
                                         operands[chunk.operand].bytesOfK))));
  return cursor;
}

void StoredStages::keepDistances(Cursor &cursor) {
  const GpuInstructions &instructions = getGpuInstructions(builder);
  for (Value &distance : cursor.distances)
    distance =
        instructions.createOpaqueNumber(builder, builder.getLoc(), distance);
}

void StoredStages::advance(Cursor &cursor, int64_t elements) {
  for (auto [pointer, operand] : llvm::zip(cursor.pointers, operands))
    pointer =
        createOffset(builder, pointer, multiply(operand.bytesOfK, elements));
}

SmallVector<Value> StoredStages::load(const Cursor &cursor, int64_t elements) {
  Cursor moved = cursor;
  advance(moved, elements);
  // LLVM would otherwise add a thread's distance to the pointer first, and the
  // elements of K, which are too many bytes for an instruction, afterwards.
  for (auto [pointer, operand] : llvm::zip(moved.pointers, operands))
    if (operand.elementsAcross && elements > 0)
      pointer = getGpuInstructions(builder).createWarpPointer(
          builder, builder.getLoc(), pointer);
  return llvm::map_to_vector(
      llvm::zip(chunks, cursor.distances), [&](auto pair) -> Value {
        auto [chunk, distance] = pair;
        return loadWords(chunk, moved.pointers[chunk.operand], distance);
      });
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void StoredStages::storeWords(Value words, Value target, int64_t stage) {
  int64_t bytes = 4 * cast<VectorType>(words.getType()).getNumElements();
  LLVM::StoreOp::create(
      builder, words,
      createOffset(builder, shared,
                   add(target, constant(stage * shape.getStageBytes()))),
      bytes);
}

/// Stores the elements of four chunks, one for each element of K, to the rows
/// of the chunks.
void StoredStages::storeTransposed(ValueRange values, const Store &store,
                                   int64_t stage) {
  auto type = VectorType::get({kTransposedElements / 2}, builder.getI32Type());
  for (auto [i, target] : llvm::enumerate(store.targets)) {
    auto getWord = [&](int64_t chunk) -> Value {
      return vector::ExtractOp::create(builder,
                                       values[store.firstChunk + chunk], i / 2);
    };
    SmallVector<Value> words;
    for (int64_t k = 0; k < kTransposedElements; k += 2)
      words.push_back(getGpuInstructions(builder).joinHalves(
          builder, builder.getLoc(), getWord(k), getWord(k + 1),
          /*areUpper=*/i % 2 == 1));
    storeWords(vector::FromElementsOp::create(builder, type, words), target,
               stage);
  }
}

void StoredStages::store(ValueRange values, int64_t stage) {
  getGpuInstructions(builder).awaitLoads(builder, builder.getLoc(), values);
  for (const Store &store : stores)
    if (store.isTransposed())
      storeTransposed(values, store, stage);
    else
      storeWords(values[store.firstChunk], store.targets.front(), stage);
}

Value StoredStages::read(int64_t stage, unsigned operand, Value row,
                         int64_t distance, Value chunk) {
  Value bytes = add(
      getSwizzledBytes(row, chunk, operands[operand].elementsAcross),
      constant(stage * shape.getStageBytes() + distance * shape.getRowBytes()));
  auto words = VectorType::get({kLoadBytes / 4}, builder.getI32Type());
  auto load = LLVM::LoadOp::create(
      builder, words, createOffset(builder, shared, bytes), kLoadBytes);
  if (shape.copies)
    ignoreWarpCopies(load);
  return load;
}
