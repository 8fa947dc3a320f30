//===- StoredLoops.cpp - Products of stages that threads store ------------===//

#include "passes/target/matmul/StoredLoops.h"

#include "passes/target/matmul/StoredBuilder.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// Upper bounds of a thread's registers for accumulators, and for the chunks of
/// one stage that it loads.
static constexpr int64_t kMaxAccumulators = 128;
static constexpr int64_t kMaxLoadedRegisters = 32;
/// Candidates for the bytes along K of a stage.
static constexpr int64_t kStageBytes[] = {128, 64};
/// Buffers for stages that threads store, and for stages that copies fill: the
/// copies of two stages are in flight while the warps multiply a third one.
static constexpr int64_t kStoredBuffers = 2, kCopiedBuffers = 3;

//===----------------------------------------------------------------------===//
// Division of the work
//===----------------------------------------------------------------------===//

int64_t StoredShape::getStageBytes() const {
  return (getRows() + getColumns()) * stageDepth * getElementBytes();
}

/// Returns true if threads hold the same elements of K of both operands, whole
/// chunks can be read, a thread has one row of each operand, and its rows of
/// other instructions have the same order of chunks.
static bool isSupported(MmaAttr mma, const MatmulTile &product) {
  if (mma.getOperands() != product.mma.getOperands() || !mma.readsRegisters() ||
      !mma.hasOperandsOfSameThreads())
    return false;
  MatrixFragment lhs(mma.getLhs());
  int64_t perThread = lhs.getExtentPerThread(1);
  return lhs.getExtentPerThread(0) == 1 && lhs.getNumBlocks(1) == 1 &&
         product.getElementsPerLoad() % perThread == 0 &&
         perThread % getElementsPerWord(mma) == 0 &&
         mma.getM() % StoredStages::kPeriod == 0 &&
         mma.getN() % StoredStages::kPeriod == 0;
}

/// Returns true if the rows of both operands lie along K, or if threads can
/// transpose the others: they join elements of 16 bits.
static bool canTranspose(const MatmulTile &product) {
  return product.isKMajor() ||
         product.mma.getOperands() == MmaOperands::Float16;
}

static bool isInGlobalMemory(Value buffer) {
  return !getRoot(buffer).getDefiningOp<memref::AllocaOp>();
}

static bool fitsAccumulators(const StoredShape &shape) {
  return shape.blocks * shape.units *
             MatrixFragment(shape.mma.getAcc()).getNumElements() <=
         kMaxAccumulators;
}

/// Returns true if registers hold the accumulators and the loaded chunks.
static bool fitsRegisters(const StoredShape &shape, const MatmulTile &product) {
  constexpr int64_t kRegisterBytes = 4;
  int64_t bytes = StoredStages::countLoadedBytes(shape, product.leftMajor,
                                                 shape.getRows()) +
                  StoredStages::countLoadedBytes(shape, product.rightMajor,
                                                 shape.getColumns());
  return fitsAccumulators(shape) &&
         bytes / kRegisterBytes <= kMaxLoadedRegisters;
}

/// Returns true if every warp has the same number of copies of an operand.
static bool haveEqualCopies(const StoredShape &shape, int64_t rows) {
  int64_t rowsPerCopy = shape.getWarpSize() / shape.getChunksPerRow();
  return rows % (rowsPerCopy * shape.threads / shape.getWarpSize()) == 0;
}

/// Sets the depth of stages that copies fill, which have whole chunks. Returns
/// false if warps would have different numbers of copies, or if no stages fit
/// into `room` bytes.
static bool setCopiedStages(StoredShape &shape, const MatmulTile &product,
                            int64_t room) {
  shape.copies = true;
  shape.buffers = kCopiedBuffers;
  for (int64_t bytes : kStageBytes) {
    shape.stageDepth = bytes / shape.getElementBytes();
    shape.numStages = product.depth / shape.stageDepth;
    if (product.depth % shape.stageDepth == 0 && shape.numStages >= 2 &&
        haveEqualCopies(shape, shape.getRows()) &&
        haveEqualCopies(shape, shape.getColumns()) &&
        shape.getBytes() <= room && fitsAccumulators(shape))
      return true;
  }
  return false;
}

/// Sets the depth of stages that threads store. Returns false if no stages fit
/// into `room` bytes.
static bool setStoredStages(StoredShape &shape, const MatmulTile &product,
                            int64_t room) {
  shape.copies = false;
  shape.buffers = kStoredBuffers;
  for (int64_t bytes : kStageBytes) {
    shape.stageDepth = bytes / shape.getElementBytes();
    shape.numStages = divideCeil(product.depth, shape.stageDepth);
    if (shape.numStages >= 2 && shape.getBytes() <= room &&
        fitsRegisters(shape, product))
      return true;
  }
  return false;
}

std::optional<StoredShape> StoredShape::choose(const MatmulTile &product,
                                               ArrayRef<MmaAttr> instructions,
                                               int64_t threads, int64_t room,
                                               int64_t copyRoom) {
  // Warps load rows along K directly if there are few.
  if ((product.isSkinny() && product.isKMajor()) || !product.isPlain() ||
      !canTranspose(product) || !isInGlobalMemory(product.left) ||
      !isInGlobalMemory(product.right))
    return std::nullopt;
  std::optional<StoredShape> best;
  // Prefers shapes with less padding, then with fewer reads, then with larger
  // instructions.
  auto getCost = [](const StoredShape &shape) {
    int64_t rows = shape.blocks * shape.mma.getN(),
            columns = shape.units * shape.mma.getM();
    return std::tuple(shape.getRows() * shape.getColumns(), rows + columns,
                      -shape.mma.getM() * shape.mma.getN() * shape.mma.getK());
  };
  for (MmaAttr mma : instructions) {
    if (!isSupported(mma, product))
      continue;
    int64_t warps = threads / mma.getAcc().getNumThreads();
    int64_t allBlocks = divideCeil(product.rows, mma.getN()),
            allUnits = divideCeil(product.columns, mma.getM());
    for (int64_t down = 1; down <= warps; down *= 2) {
      int64_t across = warps / down;
      if (warps % down != 0 || down > allBlocks || across > allUnits)
        continue;
      StoredShape shape{};
      shape.mma = mma;
      shape.threads = threads;
      shape.down = down;
      shape.across = across;
      shape.blocks = divideCeil(allBlocks, down);
      shape.units = divideCeil(allUnits, across);
      if (((product.isKMajor() && setCopiedStages(shape, product, copyRoom)) ||
           setStoredStages(shape, product, room)) &&
          (!best || getCost(shape) < getCost(*best)))
        best = shape;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The code of a thread
//===----------------------------------------------------------------------===//

StoredBuilder::StoredBuilder(ImplicitLocOpBuilder &builder,
                             const MatmulTile &product,
                             const StoredShape &shape,
                             const ProductEpilogue *epilogue, Value memory,
                             Value thread)
    : builder(builder), product(product), shape(shape), epilogue(epilogue),
      instruction(MatrixInstruction::create(shape.mma)),
      stages(builder, product, shape, memory, thread) {
  auto divide = [&](Value a, int64_t b) -> Value {
    return arith::DivUIOp::create(builder, a, constant(b));
  };
  auto remainder = [&](Value a, int64_t b) -> Value {
    return arith::RemUIOp::create(builder, a, constant(b));
  };
  auto multiplyBy = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, a, constant(b));
  };
  Value warp = divide(thread, shape.getWarpSize());
  threadOfWarp = remainder(thread, shape.getWarpSize());
  firstRow =
      multiplyBy(remainder(warp, shape.down), shape.blocks * shape.mma.getN());
  firstColumn =
      multiplyBy(divide(warp, shape.down), shape.units * shape.mma.getM());
  Location loc = builder.getLoc();
  MatrixFragment lhs = instruction->getLhs();
  Value inBlock = lhs.createThreadIndex(builder, loc, threadOfWarp, /*dim=*/0);
  chunk = lhs.createThreadIndex(builder, loc, threadOfWarp, /*dim=*/1);
  row = arith::AddIOp::create(builder, firstRow, inBlock);
  column = arith::AddIOp::create(builder, firstColumn, inBlock);
}

VectorType StoredBuilder::getAccumulatorType() {
  return VectorType::get({instruction->getNumAccumulators()},
                         instruction->getAccumulatorType());
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Reads one chunk of each block of an operand.
SmallVector<Value> StoredBuilder::readOperand(int64_t stage, unsigned operand,
                                              Value row, int64_t first,
                                              int64_t distance, int64_t count) {
  SmallVector<Value> chunks;
  Value inRow = add(chunk, first);
  for (int64_t i = 0; i < count; ++i)
    chunks.push_back(stages.read(stage, operand, row, i * distance, inRow));
  return chunks;
}

/// Returns the words of a chunk for one instruction.
SmallVector<Value> StoredBuilder::getWords(Value chunk, int64_t step) {
  MatrixFragment lhs = instruction->getLhs();
  int64_t count = lhs.getExtentPerThread(1) / lhs.getElementsPerWord();
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        vector::ExtractOp::create(builder, chunk, step * count + i));
  return words;
}

/// Multiplies the chunks of all columns by those of all rows.
void StoredBuilder::multiply(const Slice &slice, int64_t step) {
  int64_t size = instruction->getNumAccumulators();
  Value *accumulator = accumulators.begin();
  for (Value column : slice.columns)
    for (Value row : slice.rows) {
      SmallVector<Value> sums;
      for (int64_t i = 0; i < size; ++i)
        sums.push_back(vector::ExtractOp::create(builder, *accumulator, i));
      sums = instruction->multiply(builder, product.getElementType(),
                                   getWords(column, step), getWords(row, step),
                                   sums);
      *accumulator++ =
          vector::FromElementsOp::create(builder, getAccumulatorType(), sums);
    }
}

int64_t StoredBuilder::countSlices() const {
  return shape.getChunksPerRow() /
         instruction->getLhs().getThreadsSharing(/*dim=*/0);
}

/// Reads the chunks of a slice: those that the threads of one row read at once.
StoredBuilder::Slice StoredBuilder::readSlice(int64_t stage, int64_t slice) {
  int64_t first = slice * instruction->getLhs().getThreadsSharing(/*dim=*/0);
  Slice read;
  read.columns = readOperand(
      stage, /*operand=*/1,
      arith::AddIOp::create(builder, column, constant(stages.getFirstColumn())),
      first, shape.mma.getM(), shape.units);
  read.rows = readOperand(stage, /*operand=*/0, row, first, shape.mma.getN(),
                          shape.blocks);
  return read;
}

/// Returns the instructions along K that a chunk has operands for.
int64_t StoredBuilder::countSteps() const {
  return product.getElementsPerLoad() /
         instruction->getLhs().getExtentPerThread(1);
}

/// Multiplies a stage. The barrier ends the stores of this stage, and the reads
/// of the other one, which the next stage replaces after half of the
/// instructions. Loads of the stage after that are in flight until the next
/// call.
void StoredBuilder::runStage(int64_t stage, Work work) {
  gpu::BarrierOp::create(builder);
  int64_t slices = countSlices(), steps = countSteps();
  SmallVector<Slice> read;
  for (int64_t slice = 0; slice < slices; ++slice)
    read.push_back(readSlice(stage, slice));
  SmallVector<Value> arrived = loaded;
  if (work.load)
    loaded = work.load();
  // To save registers, compilers would move the loads down to their use.
  keepOrder();
  for (int64_t i = 0; i < slices * steps; ++i) {
    bool stores = work.stores && i == slices * steps / 2;
    bool beginsSlice = i > 0 && i % steps == 0;
    if (stores || beginsSlice)
      keepOrder();
    // The first slice is multiplied while its chunks arrive. Those of the
    // others have arrived by now.
    if (beginsSlice)
      getGpuInstructions(builder).awaitLoads(
          builder, builder.getLoc(),
          llvm::to_vector(llvm::concat<Value>(read[i / steps].columns,
                                              read[i / steps].rows)));
    if (stores)
      stages.store(arrived, 1 - stage);
    multiply(read[i / steps], i % steps);
  }
  keepOrder();
}

/// Creates a loop whose iterations move by `step` elements of K, and hand on
/// the accumulators, the loaded chunks and the cursor.
void StoredBuilder::runLoop(std::optional<StoredStages::Cursor> &cursor,
                            int64_t iterations, int64_t step,
                            llvm::function_ref<void(Value k)> build) {
  // Calls `visit` with all values that iterations hand on.
  auto forEachCarried = [&](auto visit) {
    llvm::for_each(accumulators, visit);
    llvm::for_each(loaded, visit);
    if (!cursor)
      return;
    llvm::for_each(cursor->pointers, visit);
    llvm::for_each(cursor->distances, visit);
  };
  auto getCarried = [&] {
    SmallVector<Value> values;
    forEachCarried([&](Value value) { values.push_back(value); });
    return values;
  };
  auto setCarried = [&](ValueRange values) {
    auto next = values.begin();
    forEachCarried([&](Value &value) { value = *next++; });
  };
  // AMD's scalar units compare numbers of 32 bits, but not of 64 bits.
  auto number = [&](int64_t k) {
    return arith::ConstantIntOp::create(builder, k, 32);
  };
  auto loop = scf::ForOp::create(builder, number(0), number(iterations * step),
                                 number(step), ValueRange(getCarried()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  setCarried(loop.getRegionIterArgs());
  Value k = arith::IndexCastOp::create(builder, builder.getIndexType(),
                                       loop.getInductionVar());
  if (cursor)
    stages.keepDistances(*cursor);
  build(k);
  if (cursor)
    stages.advance(*cursor, step);
  scf::YieldOp::create(builder, getCarried());
  setCarried(loop.getResults());
}

/// Multiplies pairs of stages in a loop, so that addresses of shared memory are
/// constant. Loads run two stages ahead.
void StoredBuilder::runPairs(int64_t pairs) {
  int64_t depth = shape.stageDepth;
  std::optional<StoredStages::Cursor> cursor = stages.createCursor(2 * depth);
  runLoop(cursor, pairs, 2 * depth, [&](Value k) {
    for (int64_t stage : {0, 1})
      runStage(stage, {/*stores=*/true, [&] {
                         return cursor
                                    ? stages.load(*cursor, stage * depth)
                                    : stages.load(add(k, (2 + stage) * depth));
                       }});
  });
}

void StoredBuilder::runStages() {
  int64_t depth = shape.stageDepth, last = shape.numStages - 1;
  stages.store(stages.load(constant(0)), /*stage=*/0);
  loaded = stages.load(constant(depth));
  int64_t pairs = (shape.numStages - 2) / 2;
  if (pairs > 0)
    runPairs(pairs);
  for (int64_t i = 2 * pairs; i <= last; ++i) {
    auto load = [&] { return stages.load(constant((i + 2) * depth)); };
    runStage(i % 2,
             {/*stores=*/i < last,
              i + 2 <= last ? llvm::function_ref<SmallVector<Value>()>(load)
                            : nullptr});
  }
  // The next tile overwrites the stages.
  gpu::BarrierOp::create(builder);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void StoredBuilder::storeElement(Value m, Value n, Value accumulator) {
  if (epilogue)
    return epilogue->apply(builder, m, n, accumulator);
  Value old = memref::LoadOp::create(builder, product.out, ValueRange{m, n});
  memref::StoreOp::create(builder, createSum(builder, old, accumulator),
                          product.out, ValueRange{m, n});
}

/// Stores the accumulators that belong to elements of the result. Their
/// fragment has columns of the result as rows.
void StoredBuilder::storeAccumulators() {
  MatrixFragment acc = instruction->getAcc();
  Location loc = builder.getLoc();
  Value threadColumn = arith::AddIOp::create(
      builder, firstColumn, acc.createFirst(builder, loc, threadOfWarp, 0));
  Value threadRow = arith::AddIOp::create(
      builder, firstRow, acc.createFirst(builder, loc, threadOfWarp, 1));
  // The operands have the extents of the result, whose temporary disappears.
  auto isInside = [&](Value index, Value operand, Major major,
                      int64_t whole) -> Value {
    int64_t dim = major == Major::K ? 0 : 1;
    if (cast<MemRefType>(operand.getType()).getDimSize(dim) == whole)
      return Value();
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, index,
                                 memref::DimOp::create(builder, operand, dim));
  };
  auto ifInside = [&](Value condition, function_ref<void()> build) {
    if (!condition)
      return build();
    auto branch = scf::IfOp::create(builder, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    build();
  };
  for (size_t index = 0; index < accumulators.size(); ++index) {
    Value vector = accumulators[index];
    int64_t unit = index / shape.blocks, block = index % shape.blocks;
    for (int64_t i = 0; i < instruction->getNumAccumulators(); ++i) {
      std::pair<int64_t, int64_t> offset = acc.getOffset(i);
      Value m = add(threadRow, block * shape.mma.getN() + offset.second);
      Value n = add(threadColumn, unit * shape.mma.getM() + offset.first);
      ifInside(
          isInside(m, product.left, product.leftMajor, shape.getRows()), [&] {
            ifInside(isInside(n, product.right, product.rightMajor,
                              shape.getColumns()),
                     [&] {
                       storeElement(
                           m, n, vector::ExtractOp::create(builder, vector, i));
                     });
          });
    }
  }
}

void StoredBuilder::build() {
  Value zero = arith::ConstantOp::create(
      builder, builder.getZeroAttr(getAccumulatorType()));
  accumulators.assign(shape.units * shape.blocks, zero);
  if (shape.copies)
    runCopiedStages();
  else
    runStages();
  storeAccumulators();
}

void ark::createStoredLoops(ImplicitLocOpBuilder &builder,
                            const MatmulTile &product, const StoredShape &shape,
                            const ProductEpilogue *epilogue) {
  constexpr int64_t kWordBytes = 4;
  auto type =
      MemRefType::get({shape.getBytes() / kWordBytes}, builder.getI32Type());
  Value memory = createTemporary(builder, type, kSharedAlignment);
  OpBuilder::InsertionGuard guard(builder);
  Value thread = createMappedLoop(builder, shape.threads);
  setFullRegisterPressure(thread.getParentBlock()->getParentOp());
  StoredBuilder(builder, product, shape, epilogue, memory, thread).build();
}
