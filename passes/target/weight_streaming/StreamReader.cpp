//===- StreamReader.cpp - Loops that read streamed weights ----------------===//

#include "passes/target/weight_streaming/StreamReader.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kLoadWords = kLoadBytes / 4;
/// The kernel texts of weight rings fix the warp size.
static constexpr int64_t kWarpSize = abi::kCudaWarpSize;
static constexpr int64_t kWarpLoadBytes = kWarpSize * kLoadBytes;

std::optional<EarlyRead> ark::matchEarlyRead(memref::SubViewOp tile,
                                             scf::ForOp vctas) {
  auto source = dyn_cast<BlockArgument>(tile.getSource());
  if (!source || !isa<func::FuncOp>(source.getOwner()->getParentOp()))
    return std::nullopt;
  auto type = cast<MemRefType>(source.getType());
  if (type.getRank() != 2 || type.getDimSize(0) != 1 ||
      tile.getType().getRank() != 2 || !type.getLayout().isIdentity() ||
      !tile.hasUnitStride() ||
      !isConstantIntValue(tile.getMixedOffsets()[0], 0))
    return std::nullopt;
  std::optional<int64_t> elements =
      getVctaStride(tile.getMixedOffsets()[1], vctas);
  // The copy would be stale if an op wrote the source.
  bool isRead = llvm::all_of(source.getUsers(), [](Operation *user) {
    return isa<memref::SubViewOp>(user) &&
           llvm::all_of(user->getUses(), [](OpOperand &use) {
             auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
             return op && op.isDpsInput(&use);
           });
  });
  if (!elements || !isRead)
    return std::nullopt;
  return EarlyRead{source, *elements, Value()};
}

/// Returns true if a thread can use the words of one load as left operand
/// without an exchange, and if neighbouring elements of the diagonals lie in
/// threads with fixed XOR distances.
static bool isSupported(MmaAttr mma) {
  if (!mma || !mma.hasOperandsOfSameThreads() ||
      !mma.hasAccumulatorsInThreadsOfLhs())
    return false;
  MatrixFragment lhs(mma.getLhs());
  return lhs.getNumElements() == 2 * kLoadWords &&
         lhs.getBlockExtent(0) == mma.getN() && llvm::isPowerOf2_64(mma.getN());
}

/// Returns the instruction for the body's target, or null.
static std::unique_ptr<MatrixInstruction> createInstruction(func::FuncOp body) {
  MmaAttr mma = findRegisterMma(body->getParentOfType<ModuleOp>());
  return isSupported(mma) ? MatrixInstruction::create(mma) : nullptr;
}

StreamReader::StreamReader(func::FuncOp body, ArrayRef<WeightStream> streams,
                           ArrayRef<EarlyRead> reads, ArrayRef<Value> outputs)
    : body(body), streams(streams), reads(reads), outputs(outputs),
      builder(body.getLoc(), body.getContext()),
      instruction(createInstruction(body)) {}

Value StreamReader::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, value);
}

Type StreamReader::getWeightType() const {
  return streams.front().getType().getElementType();
}

VectorType StreamReader::getVectorType(Type element) const {
  int64_t bits = getWeightType().getIntOrFloatBitWidth();
  return VectorType::get(kLoadBytes * 8 / bits, element);
}

/// Returns the number of loads with which a thread reads its share of a chunk.
static int64_t getNumLoads(const WeightStream &stream) {
  return llvm::divideCeil(stream.chunkBytes, kWarpLoadBytes);
}

/// Returns an i1 that is true if load `load` of the thread lies inside of the
/// chunk. Returns null if the load lies inside for all threads.
Value StreamReader::isInChunk(const WeightStream &stream, int64_t load) {
  int64_t bytes = stream.chunkBytes - load * kWarpLoadBytes;
  if (bytes >= kWarpLoadBytes)
    return Value();
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, inWarp,
                               index(bytes / kLoadBytes));
}

/// Returns `value` if `condition` is null or true, and `other` otherwise.
Value StreamReader::selectIf(Value condition, Value value, Value other) {
  return condition ? arith::SelectOp::create(builder, condition, value, other)
                         .getResult()
                   : value;
}

/// Returns `loaded` if `condition` is null or true, and zeros otherwise.
Value StreamReader::zeroUnless(Value condition, Value loaded) {
  if (!condition)
    return loaded;
  Value zeros =
      arith::ConstantOp::create(builder, builder.getZeroAttr(loaded.getType()));
  return selectIf(condition, loaded, zeros);
}

/// Loads a chunk. A thread whose load lies beyond the end of the chunk repeats
/// its first load and replaces the result by zeros.
SmallVector<Value> StreamReader::loadChunk(const WeightStream &stream,
                                           Value slot) {
  Type i64 = builder.getI64Type();
  Value bytes = arith::IndexCastOp::create(
      builder, i64, arith::MulIOp::create(builder, inWarp, index(kLoadBytes)));
  Value mine = LLVM::GEPOp::create(builder, slot.getType(), builder.getI8Type(),
                                   slot, ArrayRef<LLVM::GEPArg>{bytes});
  SmallVector<Value> values;
  for (int64_t load = 0; load < getNumLoads(stream); ++load) {
    Value isIn = isInChunk(stream, load);
    Value at = LLVM::GEPOp::create(
        builder, slot.getType(), builder.getI8Type(), mine,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(load * kWarpLoadBytes)});
    // The LLVM dialect has no 8-bit float types.
    bool isNarrow = getWeightType().getIntOrFloatBitWidth() == 8;
    Type element = isNarrow ? builder.getI8Type() : getWeightType();
    Value loaded = LLVM::LoadOp::create(builder, getVectorType(element),
                                        selectIf(isIn, at, mine),
                                        /*alignment=*/kLoadBytes);
    loaded = zeroUnless(isIn, loaded);
    if (isNarrow)
      loaded = arith::BitcastOp::create(builder, getVectorType(getWeightType()),
                                        loaded);
    values.push_back(loaded);
  }
  return values;
}

/// Loads the elements of the row that a thread multiplies by its chunks.
SmallVector<Value> StreamReader::loadRow(const WeightStream &stream, Value row,
                                         Value warpOfRow) {
  int64_t size =
      stream.chunkBytes * 8 / getWeightType().getIntOrFloatBitWidth();
  int64_t width = getVectorType(getWeightType()).getNumElements();
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(builder, value, index(factor));
  };
  VectorType type =
      getVectorType(cast<MemRefType>(row.getType()).getElementType());
  SmallVector<Value> values;
  for (int64_t chunk = 0; chunk < stream.getChunksPerWarp(); ++chunk) {
    Value begin = times(warpOfRow, size);
    if (chunk != 0)
      begin = arith::AddIOp::create(builder, begin,
                                    index(chunk * kStreamWarps * size));
    Value first = arith::AddIOp::create(builder, begin, times(inWarp, width));
    for (int64_t load = 0; load < getNumLoads(stream); ++load) {
      Value isIn = isInChunk(stream, load);
      Value column = arith::AddIOp::create(builder, first,
                                           index(load * kWarpSize * width));
      Value loaded = vector::LoadOp::create(
          builder, type, row,
          ValueRange{index(0), selectIf(isIn, column, first)},
          /*nontemporal=*/false, llvm::MaybeAlign(kLoadBytes));
      values.push_back(zeroUnless(isIn, loaded));
    }
  }
  return values;
}

/// Returns true if the target has a matrix instruction for the operands, which
/// have the same 16-bit float type.
bool StreamReader::usesTensorCores(ArrayRef<Value> row) const {
  Type type = cast<VectorType>(row.front().getType()).getElementType();
  return instruction && getWeightType() == type &&
         type.getIntOrFloatBitWidth() == 16;
}

/// Creates the accumulators of a result. Tensor cores use one fragment for each
/// of the thread's rows. Scalar code uses one accumulator per load of a chunk,
/// so that consecutive additions are independent.
SmallVector<Value> StreamReader::createAccumulators(const WeightStream &stream,
                                                    ArrayRef<Value> row) {
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  return SmallVector<Value>(usesTensorCores(row)
                                ? instruction->getLhs().getExtentPerThread(0) *
                                      instruction->getNumAccumulators()
                                : getNumLoads(stream),
                            zero);
}

/// Multiplies with scalar fused multiply-adds.
void StreamReader::multiplyScalars(ArrayRef<Value> row, ArrayRef<Value> chunk,
                                   MutableArrayRef<Value> accumulators) {
  Type f32 = builder.getF32Type();
  auto extend = [&](Value vector, int64_t element) -> Value {
    Value value = vector::ExtractOp::create(builder, vector, element);
    return value.getType() == f32
               ? value
               : arith::ExtFOp::create(builder, f32, value).getResult();
  };
  for (auto [a, b, sum] : llvm::zip(row, chunk, accumulators)) {
    int64_t size = cast<VectorType>(a.getType()).getNumElements();
    for (int64_t at = 0; at < size; ++at)
      sum = math::FmaOp::create(builder, extend(a, at), extend(b, at), sum);
  }
}

/// Returns the 32-bit words of a load as operands of an instruction.
SmallVector<Value> StreamReader::getWords(Value vector) {
  Type word = builder.getI32Type();
  Value words = vector::BitCastOp::create(
      builder, VectorType::get(kLoadWords, word), vector);
  SmallVector<Value> all;
  for (int64_t i = 0; i < kLoadWords; ++i) {
    Value one = vector::ExtractOp::create(builder, words, i);
    if (getWeightType().isF16())
      one = LLVM::BitcastOp::create(
          builder, VectorType::get(2, builder.getF16Type()), one);
    all.push_back(one);
  }
  return all;
}

/// Multiplies on tensor cores. The words that a thread loads of a chunk are
/// operand A: with `mma.sync`, they alternate between rows g and g + 8, where g
/// is the index of the thread's quad. The words of the row that belong to one
/// of these rows form column g of operand B. The results are therefore the
/// diagonals of a block of the result, and all other elements are unused.
/// Threads exchange no data before the products, because a loaded register is
/// an operand without conversion. Each of the thread's rows has a fragment of
/// accumulators.
void StreamReader::multiplyMatrices(ArrayRef<Value> row, ArrayRef<Value> chunk,
                                    MutableArrayRef<Value> accumulators) {
  MatrixFragment lhs = instruction->getLhs();
  int64_t numAccumulators = instruction->getNumAccumulators();
  for (auto [a, b] : llvm::zip(row, chunk)) {
    SmallVector<Value> words = getWords(a), weights = getWords(b);
    for (int64_t block = 0; block < lhs.getExtentPerThread(0); ++block) {
      SmallVector<Value> column;
      for (auto [i, word] : llvm::enumerate(words))
        if (lhs.getOffset(2 * i).first == block * lhs.getBlockExtent(0))
          column.push_back(word);
      MutableArrayRef<Value> own =
          accumulators.slice(block * numAccumulators, numAccumulators);
      llvm::copy(instruction->multiply(builder, getWeightType(), weights,
                                       column, ValueRange(own)),
                 own.begin());
    }
  }
}

/// Adds the elements of the diagonals. The result is valid in the first thread
/// of the warp.
Value StreamReader::addDiagonals(ArrayRef<Value> accumulators) {
  MatrixFragment acc = instruction->getAcc();
  // Column g belongs to thread g / 2 of a quad, as the first or the second of
  // its two columns.
  SmallVector<Value> columns;
  for (int64_t column = 0; column < acc.getConsecutive(1); ++column) {
    Value sum;
    for (int64_t block = 0; block < acc.getNumBlocks(0); ++block) {
      Value own = accumulators[block * (acc.getNumElements() +
                                        acc.getExtentPerThread(1)) +
                               column];
      sum = sum ? arith::AddFOp::create(builder, sum, own).getResult() : own;
    }
    columns.push_back(sum);
  }
  Value isOdd = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::ne,
      arith::AndIOp::create(builder, inWarp, index(acc.getStride(0))),
      index(0));
  Value own = arith::SelectOp::create(builder, isOdd, columns[1], columns[0]);
  // Diagonal element g lies in row g, at column g. Threads of elements whose
  // indices differ in one bit hence differ by a fixed XOR distance.
  SmallVector<int64_t> distances;
  for (int64_t bit = 1; bit < acc.getBlockExtent(0); bit *= 2)
    distances.push_back(bit * acc.getStride(0) +
                        bit / acc.getConsecutive(1) * acc.getStride(1));
  return addThreads(own, distances);
}

/// Reduces the accumulators of a warp. The result is valid in the first thread
/// of the warp.
Value StreamReader::addAccumulators(ArrayRef<Value> row,
                                    ArrayRef<Value> accumulators) {
  if (usesTensorCores(row))
    return addDiagonals(accumulators);
  SmallVector<Value> sums(accumulators);
  while (sums.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t at = 0; at + 1 < sums.size(); at += 2)
      pairs.push_back(arith::AddFOp::create(builder, sums[at], sums[at + 1]));
    if (sums.size() % 2)
      pairs.push_back(sums.back());
    sums = std::move(pairs);
  }
  SmallVector<int64_t> distances;
  for (int64_t distance = kWarpSize / 2; distance > 0; distance /= 2)
    distances.push_back(distance);
  return addThreads(sums.front(), distances);
}

/// Adds `sum` over the threads of a warp at these XOR distances. The result is
/// valid in the first thread of the warp.
Value StreamReader::addThreads(Value sum, ArrayRef<int64_t> distances) {
  for (int64_t distance : distances) {
    Value other = gpu::ShuffleOp::create(
                      builder, sum, static_cast<int32_t>(distance),
                      static_cast<int32_t>(kWarpSize), gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    sum = arith::AddFOp::create(builder, sum, other);
  }
  return sum;
}

/// Loads one element of each source per thread. Returns each element with an i1
/// that is true if the thread has an element.
SmallVector<std::pair<Value, Value>>
StreamReader::requestEarly(ValueRange sources) {
  SmallVector<std::pair<Value, Value>> elements;
  Value begin = function.getArgument(0), end = function.getArgument(1);
  for (auto [read, value] : llvm::zip(reads, sources)) {
    Value source = value;
    auto type = cast<MemRefType>(source.getType());
    Value size = index(read.elementsPerVcta);
    Value first = arith::MulIOp::create(builder, begin, size);
    Value last = arith::MinSIOp::create(
        builder, arith::MulIOp::create(builder, end, size),
        index(type.getDimSize(1)));
    Value column = arith::AddIOp::create(builder, first, thread);
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, column, last);
    auto load = scf::IfOp::create(
        builder, isThere,
        [&](OpBuilder &nested, Location loc) {
          Value zero = arith::ConstantIndexOp::create(nested, loc, 0);
          Value element = memref::LoadOp::create(nested, loc, source,
                                                 ValueRange{zero, column});
          scf::YieldOp::create(nested, loc, element);
        },
        [&](OpBuilder &nested, Location loc) {
          Value none = arith::ConstantOp::create(
              nested, loc, nested.getZeroAttr(type.getElementType()));
          scf::YieldOp::create(nested, loc, none);
        });
    elements.push_back({isThere, load.getResult(0)});
  }
  return elements;
}

void StreamReader::keepEarly(ArrayRef<std::pair<Value, Value>> elements,
                             ValueRange copies) {
  for (auto [element, copy] : llvm::zip(elements, copies)) {
    auto [isThere, value] = element;
    OpBuilder::InsertionGuard restore(builder);
    auto guard = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guard.thenBlock());
    memref::StoreOp::create(builder, value, copy, ValueRange{index(0), thread});
  }
}

/// Builds the loop over the rows in which a warp has chunks. A warp takes every
/// sixteenth chunk, and hence the same columns of all rows.
void StreamReader::buildLoop(const WeightStream &stream, ArrayRef<Value> row,
                             Value warpOfRow, Value output) {
  Type indexType = builder.getIndexType(), i32 = builder.getI32Type();
  // The request cursor, which CudaStream.mlir describes.
  SmallVector<Type> cursor = {i32, i32, i32, i32, i32, builder.getI64Type()};
  SmallVector<Type> state = {indexType, indexType, i32};
  llvm::append_range(state, cursor);
  auto open =
      func::CallOp::create(builder, "ark_stream_open", state, ValueRange());
  int64_t chunks = stream.getChunksPerWarp();
  auto loop = scf::ForOp::create(builder, open.getResult(0), open.getResult(1),
                                 index(chunks * kStreamWarps),
                                 open.getResults().drop_front(2));
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> after(loop.getRegionIterArgs());
  SmallVector<Value> accumulators = createAccumulators(stream, row);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    multiplyChunk(stream,
                  row.slice(chunk * getNumLoads(stream), getNumLoads(stream)),
                  after, accumulators);
  Value sum = addAccumulators(row, accumulators);
  Value leads = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, inWarp,
                                      index(0));
  auto guard = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  scf::YieldOp::create(builder, after);
  builder.setInsertionPointToStart(guard.thenBlock());
  Value rowIndex = arith::DivUIOp::create(builder, loop.getInductionVar(),
                                          index(stream.chunksPerRow));
  memref::StoreOp::create(builder, sum, output,
                          ValueRange{warpOfRow, rowIndex});
  builder.setInsertionPointAfter(loop);
  func::CallOp::create(builder, "ark_stream_close", TypeRange(),
                       loop.getResults());
}

/// Waits for the next chunk of the ring and multiplies it by elements of the
/// row. `state` holds the number of chunks read, then the request cursor.
void StreamReader::multiplyChunk(const WeightStream &stream,
                                 ArrayRef<Value> row,
                                 SmallVectorImpl<Value> &state,
                                 MutableArrayRef<Value> accumulators) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value slot = func::CallOp::create(builder, "ark_stream_consumer_wait",
                                    TypeRange{pointer}, state.front())
                   .getResult(0);
  SmallVector<Value> chunk = loadChunk(stream, slot);
  ValueRange cursor = ValueRange(state).drop_front();
  auto next = func::CallOp::create(builder, "ark_stream_consumer_release",
                                   TypeRange(cursor), cursor);
  if (usesTensorCores(row))
    multiplyMatrices(row, chunk, accumulators);
  else
    multiplyScalars(row, chunk, accumulators);
  Value one = arith::ConstantIntOp::create(builder, 1, 32);
  Value read = arith::AddIOp::create(builder, state.front(), one);
  state.assign({read});
  llvm::append_range(state, next.getResults());
}

SmallVector<Value> StreamReader::getOperands() {
  SmallVector<Value> operands = {body.getArgument(abi::kBodyBegin),
                                 body.getArgument(abi::kBodyEnd)};
  operands.push_back(streams.front().row);
  for (const EarlyRead &read : reads)
    operands.push_back(read.source);
  for (const EarlyRead &read : reads)
    operands.push_back(read.copy);
  llvm::append_range(operands, outputs);
  return operands;
}

func::FuncOp StreamReader::createFunction() {
  builder.setInsertionPointAfter(body);
  SmallVector<Value> operands = getOperands();
  function = func::FuncOp::create(
      builder, (body.getSymName() + "_stream").str(),
      builder.getFunctionType(ValueRange(operands).getTypes(), TypeRange()));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  ValueRange arguments = entry->getArguments().drop_front(2);
  Value rows = arguments.front();
  ValueRange sources = arguments.slice(1, reads.size());
  ValueRange copies = arguments.slice(1 + reads.size(), reads.size());
  ValueRange results = arguments.take_back(outputs.size());

  thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  inWarp = arith::RemUIOp::create(builder, thread, index(kWarpSize));
  // Segments consist of whole rows, so that a warp reads the same columns in
  // every segment.
  const WeightStream &stream = streams.front();
  Value warp = arith::DivUIOp::create(builder, thread, index(kWarpSize));
  Value warpOfRow =
      arith::RemUIOp::create(builder, warp, index(stream.getWarpsPerRow()));
  auto elements = requestEarly(sources);
  SmallVector<Value> row = loadRow(stream, rows, warpOfRow);
  keepEarly(elements, copies);
  for (auto [stream, result] : llvm::zip(streams, results))
    buildLoop(stream, row, warpOfRow, result);
  func::ReturnOp::create(builder);
  return function;
}
