//===- StreamReader.cpp - Loops that read streamed weights ----------------===//

#include "passes/target/weight_streaming/StreamReader.h"

#include "passes/target/memory_access/SpacePointer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

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
  return VectorType::get(kLoadBytes * 8 / streams.front().getNumBits(),
                         element);
}

/// Returns the number of loads with which a thread reads its share of a chunk.
int64_t StreamReader::getNumLoads(const WeightStream &stream) {
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
    Type weight = getWeightType();
    int64_t bits = weight.getIntOrFloatBitWidth();
    auto type = VectorType::get(kLoadBytes * 8 / bits,
                                bits == 8 ? builder.getI8Type() : weight);
    Value loaded = LLVM::LoadOp::create(builder, type, selectIf(isIn, at, mine),
                                        /*alignment=*/kLoadBytes);
    loaded = zeroUnless(isIn, loaded);
    if (type.getElementType() != weight)
      loaded = arith::BitcastOp::create(builder, type.clone(weight), loaded);
    values.push_back(loaded);
  }
  return values;
}

/// Returns the column of the first element of each load of a thread, for the
/// chunks of one row. A load beyond the end of the chunk has the column of the
/// first load of the chunk.
SmallVector<Value> StreamReader::getColumns(const WeightStream &stream,
                                            Value warpOfRow) {
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, a, b);
  };
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(builder, value, index(factor));
  };
  int64_t size = stream.getChunkElements();
  int64_t width = getVectorType(getWeightType()).getNumElements();
  SmallVector<Value> columns;
  for (int64_t chunk = 0; chunk < stream.getChunksPerWarp(); ++chunk) {
    Value begin = times(warpOfRow, size);
    if (chunk != 0)
      begin = add(begin, index(chunk * kStreamWarps * size));
    Value first = add(begin, times(inWarp, width));
    for (int64_t load = 0; load < getNumLoads(stream); ++load)
      columns.push_back(selectIf(isInChunk(stream, load),
                                 add(first, index(load * kWarpSize * width)),
                                 first));
  }
  return columns;
}

/// Loads the elements of the row that a thread multiplies by its chunks.
SmallVector<Value> StreamReader::loadRow(const WeightStream &stream, Value row,
                                         Value warpOfRow) {
  VectorType type =
      getVectorType(cast<MemRefType>(row.getType()).getElementType());
  SmallVector<Value> values;
  for (auto [at, column] : llvm::enumerate(getColumns(stream, warpOfRow))) {
    Value loaded = vector::LoadOp::create(
        builder, type, row, ValueRange{index(0), column},
        /*nontemporal=*/false, llvm::MaybeAlign(kLoadBytes));
    loaded = zeroUnless(isInChunk(stream, at % getNumLoads(stream)), loaded);
    if (stream.quantization && usesTensorCores(loaded))
      loaded =
          WeightWidener(builder, stream.getNumBits() == 4).arrangeRow(loaded);
    values.push_back(loaded);
  }
  return values;
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

/// Loads the scale and the zero of each load of a thread, for the row to which
/// chunk `item` of the work item belongs. Rows behind the last are clamped to
/// it: the loop requests the factors of the next row, which it may not have.
SmallVector<Value> StreamReader::loadFactors(const WeightStream &stream,
                                             ValueRange buffers,
                                             Value warpOfRow, Value item) {
  SmallVector<Value> factors;
  if (!stream.quantization)
    return factors;
  int64_t group = stream.quantization->product.group;
  Value row = arith::AddIOp::create(
      builder,
      arith::MulIOp::create(builder, function.getArgument(0),
                            index(stream.rowsPerVcta)),
      arith::DivUIOp::create(builder, item, index(stream.chunksPerRow)));
  row = arith::MinUIOp::create(builder, row, index(stream.getNumRows() - 1));
  for (Value column : getColumns(stream, warpOfRow)) {
    Value at =
        group == 0
            ? index(0)
            : arith::DivUIOp::create(builder, column, index(group)).getResult();
    for (Value buffer : buffers)
      factors.push_back(loadFactor(buffer, row, at));
  }
  return factors;
}

/// Loads a scale as f32, or a zero as i32.
Value StreamReader::loadFactor(Value buffer, Value row, Value column) {
  Value factor =
      memref::LoadOp::create(builder, buffer, ValueRange{row, column});
  if (factor.getType().isF32())
    return factor;
  if (isa<FloatType>(factor.getType()))
    return arith::ExtFOp::create(builder, builder.getF32Type(), factor);
  return arith::ExtUIOp::create(builder, builder.getI32Type(), factor);
}

/// The types of the state of a ring, which CudaStream.mlir describes.
static SmallVector<Type> getStateTypes(OpBuilder &builder) {
  SmallVector<Type> types(6, builder.getI32Type());
  types.push_back(builder.getI64Type());
  return types;
}

/// Opens the next segment.
StreamReader::OpenSegments StreamReader::open() {
  SmallVector<Type> types(2, builder.getIndexType());
  llvm::append_range(types, getStateTypes(builder));
  auto call =
      func::CallOp::create(builder, "ark_stream_open", types, ValueRange());
  return {call.getResult(0), call.getResult(1),
          SmallVector<Value>(call.getResults().drop_front(2))};
}

/// Opens the segments of all products, whose chunks follow each other in the
/// ring. Warps take turns, and the first warp has the first chunk.
StreamReader::OpenSegments StreamReader::openAll(Value warp) {
  Value segments = arith::ConstantIntOp::create(builder, streams.size(), 32);
  auto call = func::CallOp::create(builder, "ark_stream_open_all",
                                   getStateTypes(builder), segments);
  Value rows = index(0);
  for (const WeightStream &stream : streams)
    rows = arith::AddIOp::create(builder, rows,
                                 getNumRows(builder, stream,
                                            function.getArgument(0),
                                            function.getArgument(1)));
  Value chunks =
      arith::MulIOp::create(builder, rows, index(streams.front().chunksPerRow));
  return {warp, chunks, SmallVector<Value>(call.getResults())};
}

/// Builds the loop over the rows in which a warp has chunks. A warp takes every
/// sixteenth chunk, and hence the same columns of all rows.
void StreamReader::buildLoop(const WeightStream &stream,
                             const OpenSegments &segments, ArrayRef<Value> row,
                             Value warpOfRow, ValueRange buffers,
                             Value output) {
  int64_t chunks = stream.getChunksPerWarp();
  Value step = index(chunks * kStreamWarps);
  SmallVector<Value> inits = segments.state;
  size_t numStates = inits.size();
  llvm::append_range(inits,
                     loadFactors(stream, buffers, warpOfRow, segments.first));
  auto loop =
      scf::ForOp::create(builder, segments.first, segments.count, step, inits);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> after(loop.getRegionIterArgs().take_front(numStates));
  SmallVector<Value> factors(loop.getRegionIterArgs().drop_front(numStates));
  // Factors of the next row are requested before the wait for the chunks of
  // this row.
  SmallVector<Value> next =
      loadFactors(stream, buffers, warpOfRow,
                  arith::AddIOp::create(builder, loop.getInductionVar(), step));
  SmallVector<Value> accumulators = createAccumulators(stream, row);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    multiplyChunk(stream,
                  row.slice(chunk * getNumLoads(stream), getNumLoads(stream)),
                  ArrayRef(factors).slice(chunk * factors.size() / chunks,
                                          factors.size() / chunks),
                  after, accumulators);
  llvm::append_range(after, next);
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
                       loop.getResults().take_front(numStates));
}

/// Waits for the next chunk of the ring and multiplies it by elements of the
/// row. `state` holds the number of chunks read, then the request cursor.
void StreamReader::multiplyChunk(const WeightStream &stream,
                                 ArrayRef<Value> row, ArrayRef<Value> factors,
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
  if (stream.quantization)
    multiplyQuantized(stream, row, chunk, factors, accumulators);
  else if (usesTensorCores(row))
    multiplyMatrices(row, chunk, accumulators);
  else
    multiplyScalars(row, chunk, accumulators);
  Value one = arith::ConstantIntOp::create(builder, 1, 32);
  Value read = arith::AddIOp::create(builder, state.front(), one);
  state.assign({read});
  llvm::append_range(state, next.getResults());
}

Value ark::getNumRows(ImplicitLocOpBuilder &builder, const WeightStream &stream,
                      Value begin, Value end) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value perVcta = index(stream.rowsPerVcta);
  if (stream.getNumRows() % stream.rowsPerVcta == 0)
    return arith::MulIOp::create(
        builder, arith::SubIOp::create(builder, end, begin), perVcta);
  Value last = arith::MinUIOp::create(
      builder, arith::MulIOp::create(builder, end, perVcta),
      index(stream.getNumRows()));
  return arith::SubIOp::create(builder, last,
                               arith::MulIOp::create(builder, begin, perVcta));
}

SmallVector<Value> StreamReader::getOperands() {
  SmallVector<Value> operands = {body.getArgument(abi::kBodyBegin),
                                 body.getArgument(abi::kBodyEnd)};
  operands.push_back(streams.front().row);
  for (const WeightStream &stream : streams)
    if (stream.quantization)
      llvm::append_range(operands, stream.quantization->getBuffers());
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
  arguments = arguments.drop_front();
  SmallVector<ValueRange> buffers;
  for (const WeightStream &stream : streams) {
    size_t count =
        stream.quantization ? stream.quantization->getBuffers().size() : 0;
    buffers.push_back(arguments.take_front(count));
    arguments = arguments.drop_front(count);
  }
  ValueRange sources = arguments.take_front(reads.size());
  ValueRange copies = arguments.slice(reads.size(), reads.size());
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
  if (readsAtOnce(streams))
    buildLoop(stream, openAll(warp), row, warpOfRow, {}, results.front());
  else
    for (auto [stream, buffer, result] : llvm::zip(streams, buffers, results))
      buildLoop(stream, open(), row, warpOfRow, buffer, result);
  func::ReturnOp::create(builder);
  return function;
}
