//===- MmaBuilder.cpp - One thread's share of mma products ----------------===//

#include "passes/target/matmul/MmaBuilder.h"

#include "passes/target/matmul/MmaStages.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"

#include "lib/backend/GpuInstructions.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// With fewer accumulators than this, every element gets two, so that
/// consecutive instructions are independent.
static constexpr int64_t kMinIndependentAccumulators = 3;

Value MmaBuilder::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

Value MmaBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : arith::AddIOp::create(builder, a, constant(b));
}

int64_t MmaBuilder::getChains() const {
  int64_t accumulators = products.size() * shape.units * shape.blocks;
  return accumulators < kMinIndependentAccumulators ? 2 : 1;
}

int64_t MmaBuilder::getSteps() const {
  return products.front().getElementsPerLoad() /
         instruction.getLhs().getExtentPerThread(1);
}

SmallVector<Value> MmaBuilder::createAccumulators() {
  Value zero = arith::ConstantOp::create(
      builder, builder.getZeroAttr(instruction.getAccumulatorType()));
  return SmallVector<Value>(instruction.getNumAccumulators() * products.size() *
                                shape.units * shape.blocks * getChains(),
                            zero);
}

/// Clamps a row to the last row. Results of clamped rows are not used.
Value MmaBuilder::clampRow(Value row, Value buffer, int64_t count) {
  if (cast<MemRefType>(buffer.getType()).getDimSize(0) == count)
    return row;
  Value size = memref::DimOp::create(builder, buffer, 0);
  Value last = arith::SubIOp::create(builder, size, constant(1));
  return arith::MinUIOp::create(builder, row, last);
}

void MmaBuilder::findTile(Value thread) {
  Value warp =
      arith::DivUIOp::create(builder, thread, constant(shape.warpSize));
  threadOfWarp =
      arith::RemUIOp::create(builder, thread, constant(shape.warpSize));
  Value parts = constant(shape.parts), downTiles = constant(shape.downTiles);
  Value tile = arith::DivUIOp::create(builder, warp, parts);
  part = arith::RemUIOp::create(builder, warp, parts);
  firstColumn = arith::MulIOp::create(
      builder, arith::DivUIOp::create(builder, tile, downTiles),
      constant(shape.units * shape.unitColumns));
  firstRow = arith::MulIOp::create(
      builder, arith::RemUIOp::create(builder, tile, downTiles),
      constant(shape.blocks * shape.unitRows));
  MatrixFragment lhs = instruction.getLhs();
  row = lhs.createThreadIndex(builder, builder.getLoc(), threadOfWarp, 0);
  number = lhs.createThreadIndex(builder, builder.getLoc(), threadOfWarp, 1);
  Value length = constant(shape.slices * shape.sliceElements);
  Value first = arith::MulIOp::create(builder, part, length);
  begin = arith::AddIOp::create(
      builder, first,
      arith::MulIOp::create(builder, number,
                            constant(products.front().getElementsPerLoad())));
  end = arith::MinUIOp::create(builder,
                               arith::AddIOp::create(builder, first, length),
                               constant(products.front().depth));
}

Value MmaBuilder::getFirstColumn(Value iteration) {
  if (!iteration)
    return firstColumn;
  Value before = arith::MulIOp::create(
      builder, iteration, constant(shape.getColumnsPerIteration()));
  return arith::AddIOp::create(builder, firstColumn, before);
}

/// Returns the columns of each product's units, one per load.
SmallVector<MmaBuilder::Column> MmaBuilder::findColumns(Value iteration) {
  Value threadColumn =
      arith::AddIOp::create(builder, getFirstColumn(iteration), row);
  SmallVector<Column> columns;
  for (const MatmulTile &product : products) {
    int64_t loads = product.getLoads();
    int64_t perLoad = product.getColumnsPerLoad();
    int64_t count =
        loads * perLoad == shape.unitColumns ? shape.getColumns() : perLoad;
    if (Operation *view = product.right.getDefiningOp();
        view && product.isSkinny())
      setReadOnce(view);
    for (int64_t unit = 0; unit < shape.units; ++unit)
      for (int64_t load = 0; load < loads; ++load) {
        Value clamped = clampRow(
            add(threadColumn, unit * shape.unitColumns + load * perLoad),
            product.right, count);
        columns.push_back(
            {product.right, clamped, findAddress(product.right, clamped)});
      }
  }
  return columns;
}

void MmaBuilder::findRows() {
  Value threadRow = arith::AddIOp::create(builder, firstRow, row);
  for (int64_t block = 0; block < shape.blocks; ++block)
    rowsOf.push_back(clampRow(add(threadRow, block * shape.unitRows),
                              products.front().left, shape.getRows()));
}

/// Returns the address of this thread's elements of a row if the row lies in
/// global memory and few rows are multiplied by it. Returns null otherwise.
Value MmaBuilder::findAddress(Value buffer, Value row) {
  bool isGlobal = !getRoot(buffer).getDefiningOp<memref::AllocaOp>();
  if (!isGlobal || !products.front().isSkinny() || shape.isRagged)
    return Value();
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value element = arith::AddIOp::create(
      builder,
      arith::MulIOp::create(builder, row, metadata.getStrides().front()),
      begin);
  Type type = getElementTypeOrSelf(buffer);
  Value bytes =
      arith::MulIOp::create(builder, element, constant(getElementBytes(type)));
  return createOffset(builder,
                      createSpacePointer(builder, buffer, kGlobalSpace), bytes);
}

/// Loads 32-bit words. Words beyond the end of the split-K part are zero.
Value MmaBuilder::load(Value buffer, Value row, Value k) {
  Type element = getElementTypeOrSelf(buffer);
  int64_t perLoad = products.front().getElementsPerLoad();
  int64_t bytes = perLoad * element.getIntOrFloatBitWidth() / 8;
  auto words = VectorType::get({bytes / 4}, builder.getI32Type());
  Value index = k;
  if (shape.isRagged)
    index = arith::MinUIOp::create(builder, k,
                                   constant(products.front().depth - perLoad));
  Value loaded = vector::LoadOp::create(
      builder, VectorType::get({perLoad}, element), buffer,
      ValueRange{row, index}, /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  loaded = vector::BitCastOp::create(builder, words, loaded);
  if (!shape.isRagged)
    return loaded;
  Value isThere =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, k, end);
  Value zeros = arith::ConstantOp::create(builder, builder.getZeroAttr(words));
  return arith::SelectOp::create(builder, isThere, loaded, zeros);
}

SmallVector<Value> MmaBuilder::loadRows(Value k) {
  return llvm::map_to_vector(
      rowsOf, [&](Value row) { return load(products.front().left, row, k); });
}

/// Returns the position along K of the thread's first element, plus `distance`
/// (unless it is null), plus `more`.
Value MmaBuilder::getK(Value distance, int64_t more) {
  return add(distance ? arith::AddIOp::create(builder, begin, distance) : begin,
             more);
}

Value MmaBuilder::load(const Column &column, Value distance, int64_t more) {
  if (!column.pointer)
    return load(column.buffer, column.row, getK(distance, more));
  int64_t size = getElementBytes(getElementTypeOrSelf(column.buffer));
  Value pointer = column.pointer;
  if (distance)
    pointer =
        createOffset(builder, pointer,
                     arith::MulIOp::create(builder, distance, constant(size)));
  return getGpuInstructions(builder).createStreamingLoad(
      builder, builder.getLoc(),
      createOffset(builder, pointer, constant(more * size)),
      products.front().getElementsPerLoad() * size / 4);
}

MmaBuilder::Slice MmaBuilder::loadSlice(ArrayRef<Column> columns,
                                        Value distance, int64_t more) {
  Slice slice;
  for (const Column &column : columns)
    slice.push_back(load(column, distance, more));
  if (!products.front().hasTemporaryRows())
    llvm::append_range(slice, loadRows(getK(distance, more)));
  return slice;
}

/// Widens one word of 8-bit floats to two words.
Value MmaBuilder::widen(Value loaded, int64_t step, Type element) {
  int64_t size = instruction.getLhs().getExtentPerThread(1);
  Value word = vector::ExtractOp::create(builder, loaded, step);
  Value one = vector::FromElementsOp::create(
      builder, VectorType::get({1}, builder.getI32Type()), word);
  Value narrow =
      vector::BitCastOp::create(builder, VectorType::get({size}, element), one);
  Type wide = products.front().getElementType();
  return vector::BitCastOp::create(
      builder, VectorType::get({2}, builder.getI32Type()),
      arith::ExtFOp::create(builder, VectorType::get({size}, wide), narrow));
}

/// Returns the words of an instruction among the loaded words of `operand`.
/// 8-bit floats are widened here, after all loads have been issued.
SmallVector<Value> MmaBuilder::getWords(Value loaded, int64_t step,
                                        Value operand) {
  SmallVector<Value> words;
  Type element = products.front().getElementType();
  MatrixFragment lhs = instruction.getLhs();
  int64_t count = lhs.getExtentPerThread(1) / lhs.getElementsPerWord(),
          first = count * step;
  if (Type stored = getElementTypeOrSelf(operand); stored != element) {
    loaded = widen(loaded, step, stored);
    first = 0;
  }
  for (int64_t i = 0; i < count; ++i) {
    Value word = vector::ExtractOp::create(builder, loaded, first + i);
    if (element.isF16())
      word =
          LLVM::BitcastOp::create(builder, VectorType::get({2}, element), word);
    words.push_back(word);
  }
  return words;
}

/// Creates one instruction. `columns` are the words of all columns of a unit,
/// `rows` the words of a block.
void MmaBuilder::createMma(ArrayRef<Value> columns, ArrayRef<Value> rows,
                           MutableArrayRef<Value> accumulators) {
  llvm::copy(
      instruction.multiply(builder, products.front().getElementType(),
                           instruction.getLhs().sortWords(columns, /*depth=*/1),
                           instruction.getRhs().sortWords(rows, /*depth=*/0),
                           ValueRange(accumulators)),
      accumulators.begin());
}

/// Adds the products of the slice that begins at `k` to `accumulators`.
void MmaBuilder::multiplySlice(const Slice &slice, Value k,
                               SmallVectorImpl<Value> &accumulators) {
  if (products.front().hasTemporaryRows())
    return multiply(slice, loadRows(k), accumulators);
  ArrayRef<Value> all = slice;
  multiply(all.drop_back(shape.blocks), all.take_back(shape.blocks),
           accumulators);
}

/// Multiplies one slice. `accumulators` has the accumulators of an instruction
/// for each chain, block, unit and product.
void MmaBuilder::multiply(ArrayRef<Value> columns, ArrayRef<Value> rows,
                          SmallVectorImpl<Value> &accumulators) {
  int64_t chains = getChains(),
          numAccumulators = instruction.getNumAccumulators();
  for (int64_t step = 0; step < getSteps(); ++step) {
    ArrayRef<Value> rest = columns;
    MutableArrayRef<Value> remaining = accumulators;
    for (const MatmulTile &product : products)
      for (int64_t unit = 0; unit < shape.units; ++unit) {
        SmallVector<Value> words;
        for (Value load : rest.take_front(product.getLoads()))
          llvm::append_range(words, getWords(load, step, product.right));
        size_t all = instruction.getLhs().getNumWords();
        if (words.size() < all)
          words.resize(
              all, arith::ConstantOp::create(
                       builder, builder.getZeroAttr(words.front().getType())));
        rest = rest.drop_front(product.getLoads());
        for (Value row : rows) {
          createMma(words, getWords(row, step, product.left),
                    remaining.slice(numAccumulators * (step % chains),
                                    numAccumulators));
          remaining = remaining.drop_front(numAccumulators * chains);
        }
      }
  }
}

/// Multiplies the warp's split-K part. As soon as a slice has been used, the
/// loads of the slice `inFlight` slices later are issued.
SmallVector<Value> MmaBuilder::accumulate() {
  SmallVector<Value> accumulators = createAccumulators();
  SmallVector<Column> columns = findColumns(Value());
  SmallVector<Slice> slices;
  for (int64_t i = 0; i < shape.inFlight; ++i)
    slices.push_back(loadSlice(columns, Value(), i * shape.sliceElements));
  if (shape.slices > shape.inFlight) {
    SmallVector<Value> inits(accumulators);
    for (const Slice &slice : slices)
      llvm::append_range(inits, slice);
    int64_t ahead = shape.inFlight * shape.sliceElements;
    auto loop = scf::ForOp::create(builder, constant(ahead),
                                   constant(shape.slices * shape.sliceElements),
                                   constant(ahead), inits);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value distance = loop.getInductionVar();
    Value here =
        arith::SubIOp::create(builder, getK(distance, 0), constant(ahead));
    ValueRange carried = loop.getRegionIterArgs();
    SmallVector<Value> next(carried.take_front(accumulators.size()));
    ValueRange loaded = carried.drop_front(accumulators.size());
    SmallVector<Value> yielded;
    for (auto [i, slice] : llvm::enumerate(slices)) {
      multiplySlice(Slice(loaded.slice(i * slice.size(), slice.size())),
                    add(here, i * shape.sliceElements), next);
      llvm::append_range(yielded,
                         loadSlice(columns, distance, i * shape.sliceElements));
    }
    llvm::append_range(next, yielded);
    scf::YieldOp::create(builder, next);
    ValueRange results = loop.getResults();
    accumulators.assign(results.begin(), results.begin() + accumulators.size());
    results = results.drop_front(accumulators.size());
    for (auto [i, slice] : llvm::enumerate(slices))
      slice = Slice(results.slice(i * slice.size(), slice.size()));
  }
  int64_t first = shape.slices - shape.inFlight;
  for (auto [i, slice] : llvm::enumerate(slices))
    multiplySlice(slice, add(begin, (first + i) * shape.sliceElements),
                  accumulators);
  return accumulators;
}

/// Multiplies the tiles of all iterations over N. Loads of the next iteration
/// replace the slices that have been multiplied.
void MmaBuilder::accumulateOverN() {
  SmallVector<Column> columns = findColumns(constant(0));
  SmallVector<Value> inits;
  for (int64_t i = 0; i < shape.slices; ++i)
    llvm::append_range(inits,
                       loadSlice(columns, Value(), i * shape.sliceElements));
  int64_t size = inits.size() / shape.slices;
  auto loop = scf::ForOp::create(
      builder, constant(1), constant(shape.nIterations), constant(1), inits);
  auto multiplyIteration = [&](ValueRange loaded,
                               function_ref<void(int64_t)> then) {
    SmallVector<Value> accumulators = createAccumulators();
    for (int64_t i = 0; i < shape.slices; ++i) {
      multiplySlice(Slice(loaded.slice(i * size, size)),
                    add(begin, i * shape.sliceElements), accumulators);
      then(i * shape.sliceElements);
    }
    return accumulators;
  };
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value iteration = loop.getInductionVar();
    columns = findColumns(iteration);
    SmallVector<Value> next;
    SmallVector<Value> accumulators =
        multiplyIteration(loop.getRegionIterArgs(), [&](int64_t more) {
          llvm::append_range(next, loadSlice(columns, Value(), more));
        });
    store(accumulators, arith::SubIOp::create(builder, iteration, constant(1)));
    scf::YieldOp::create(builder, next);
  }
  store(multiplyIteration(loop.getResults(), [](int64_t) {}),
        constant(shape.nIterations - 1));
}

/// Stores an accumulator to the temporary, which has padded extents, or adds it
/// to an element of the result if that element exists.
void MmaBuilder::store(Value accumulator, const MatmulTile &product,
                       Value buffer, Value m, Value n) {
  if (buffer != product.out) {
    memref::StoreOp::create(builder, accumulator, buffer,
                            ValueRange{part, m, n});
    return;
  }
  Value isThere;
  for (auto [dim, index] : llvm::enumerate(ValueRange{m, n})) {
    Value extent = memref::DimOp::create(builder, buffer, dim);
    Value isInside = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                           index, extent);
    isThere =
        isThere ? arith::AndIOp::create(builder, isThere, isInside).getResult()
                : isInside;
  }
  auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  Value old = memref::LoadOp::create(builder, buffer, ValueRange{m, n});
  memref::StoreOp::create(builder, createSum(builder, old, accumulator), buffer,
                          ValueRange{m, n});
}

/// Stores the accumulators. Their fragment has columns of the result as rows.
void MmaBuilder::store(ArrayRef<Value> accumulators, Value iteration) {
  int64_t chains = getChains();
  int64_t numAccumulators = instruction.getNumAccumulators();
  MatrixFragment acc = instruction.getAcc();
  Location loc = builder.getLoc();
  Value threadColumn = arith::AddIOp::create(
      builder, getFirstColumn(iteration),
      acc.createFirst(builder, loc, threadOfWarp, /*dim=*/0));
  Value threadRow = arith::AddIOp::create(
      builder, firstRow,
      acc.createFirst(builder, loc, threadOfWarp, /*dim=*/1));
  for (auto [product, buffer] : llvm::zip(products, buffers))
    for (int64_t unit = 0; unit < shape.units; ++unit)
      for (int64_t block = 0; block < shape.blocks; ++block) {
        SmallVector<Value> combined(accumulators.take_front(numAccumulators));
        for (int64_t i = 0; chains == 2 && i < numAccumulators; ++i)
          combined[i] = createSum(builder, combined[i],
                                  accumulators[numAccumulators + i]);
        accumulators = accumulators.drop_front(numAccumulators * chains);
        for (auto [i, accumulator] : llvm::enumerate(combined)) {
          auto [column, down] = acc.getOffset(i);
          if (column < product.getLoads() * product.getColumnsPerLoad())
            store(accumulator, product, buffer,
                  add(threadRow, block * shape.unitRows + down),
                  add(threadColumn, unit * shape.unitColumns + column));
        }
      }
}

void MmaBuilder::build(Value thread, int64_t threads) {
  int64_t busy = shape.getBusyWarps() * shape.warpSize;
  if (busy < threads) {
    Value isBusy = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                         thread, constant(busy));
    auto branch = scf::IfOp::create(builder, isBusy, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  findTile(thread);
  findRows();
  if (shape.nIterations > 1)
    accumulateOverN();
  else
    store(accumulate());
}

//===----------------------------------------------------------------------===//
// Stages in shared memory
//===----------------------------------------------------------------------===//

MmaBuilder::Slice MmaBuilder::loadStaged(MmaStages &stages,
                                         ArrayRef<Column> columns, Value stage,
                                         int64_t slice) {
  Slice loaded;
  int64_t perProduct = columns.size() / products.size();
  for (auto [index, column] : llvm::enumerate(columns))
    loaded.push_back(stages.load(
        stage, part, slice,
        add(column.row, stages.getFirstRow(index / perProduct)), number));
  for (Value row : rowsOf)
    loaded.push_back(stages.load(stage, part, slice, row, number));
  return loaded;
}

/// Multiplies with stages in shared memory. Copies of the next stages are in
/// flight while the warps multiply one stage. A stage is free once all warps
/// have reached the barrier after reading it.
SmallVector<Value> MmaBuilder::accumulateStaged(MmaStages &stages,
                                                int64_t count) {
  int64_t length = MmaStages::kSlicesPerStage * shape.sliceElements;
  int64_t bytes = stages.getStageBytes();
  for (int64_t i = 0; i + 1 < count; ++i) {
    stages.copy(constant(i * length), constant(i * bytes));
    stages.commit();
  }
  SmallVector<Column> columns = findColumns(Value());
  SmallVector<Value> inits = createAccumulators();
  size_t numAccumulators = inits.size();
  inits.push_back(constant(0));
  inits.push_back(constant((count - 1) * bytes));
  Value end = constant(shape.slices * shape.sliceElements);
  auto loop =
      scf::ForOp::create(builder, constant(0), end, constant(length), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value stage = carried[numAccumulators], free = carried[numAccumulators + 1];
    stages.wait(count - 2);
    Value next = add(loop.getInductionVar(), (count - 1) * length);
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, next, end);
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      stages.copy(next, free);
    }
    stages.commit();
    SmallVector<Value> accumulators(carried.take_front(numAccumulators));
    for (int64_t slice = 0; slice < MmaStages::kSlicesPerStage; ++slice)
      multiplySlice(loadStaged(stages, columns, stage, slice), Value(),
                    accumulators);
    Value after = add(stage, bytes);
    Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         after, constant(count * bytes));
    accumulators.push_back(
        arith::SelectOp::create(builder, isLast, constant(0), after));
    accumulators.push_back(stage);
    scf::YieldOp::create(builder, accumulators);
  }
  // The accumulators overwrite stages that other warps may still read.
  gpu::BarrierOp::create(builder);
  return SmallVector<Value>(loop.getResults().take_front(numAccumulators));
}

void MmaBuilder::buildStaged(Value thread, int64_t threads, Value memory,
                             int64_t count) {
  findTile(thread);
  findRows();
  MmaStages stages(builder, products, shape, memory, thread, threads);
  store(accumulateStaged(stages, count));
}
