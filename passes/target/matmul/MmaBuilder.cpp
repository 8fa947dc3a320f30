//===- MmaBuilder.cpp - One thread's share of mma products ----------------===//

#include "passes/target/matmul/MmaBuilder.h"

#include "passes/target/matmul/MmaStages.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/SpacePointer.h"
#include "passes/target/support/StreamingLoad.h"
#include "passes/target/support/WideLoad.h"

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
static constexpr int64_t kMinIndependentSums = 3;

Value MmaBuilder::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, number);
}

Value MmaBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : arith::AddIOp::create(builder, a, constant(b));
}

int64_t MmaBuilder::getChains() const {
  int64_t sums = products.size() * shape.units * shape.blocks;
  return sums < kMinIndependentSums ? 2 : 1;
}

int64_t MmaBuilder::getSteps() const {
  return kElementsPerLoad / instruction.getLhs().getOwn(1);
}

SmallVector<Value> MmaBuilder::createSums() {
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  return SmallVector<Value>(instruction.getNumSums() * products.size() *
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

void MmaBuilder::findPlace(Value thread) {
  Value warp =
      arith::DivUIOp::create(builder, thread, constant(shape.warpSize));
  lane = arith::RemUIOp::create(builder, thread, constant(shape.warpSize));
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
  row = lhs.createPart(builder, builder.getLoc(), lane, 0);
  number = lhs.createPart(builder, builder.getLoc(), lane, 1);
  Value length = constant(shape.pieces * shape.pieceElements);
  Value first = arith::MulIOp::create(builder, part, length);
  begin = arith::AddIOp::create(
      builder, first,
      arith::MulIOp::create(builder, number, constant(kElementsPerLoad)));
  end = arith::MinUIOp::create(builder,
                               arith::AddIOp::create(builder, first, length),
                               constant(products.front().depth));
}

Value MmaBuilder::getFirstColumn(Value turn) {
  if (!turn)
    return firstColumn;
  Value before =
      arith::MulIOp::create(builder, turn, constant(shape.getColumnsOfTurn()));
  return arith::AddIOp::create(builder, firstColumn, before);
}

/// Returns the columns of each product's units, one per load.
SmallVector<MmaBuilder::Column> MmaBuilder::findColumns(Value turn) {
  Value ownColumn = arith::AddIOp::create(builder, getFirstColumn(turn), row);
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
        Value own =
            clampRow(add(ownColumn, unit * shape.unitColumns + load * perLoad),
                     product.right, count);
        columns.push_back({product.right, own, findFirst(product.right, own)});
      }
  }
  return columns;
}

void MmaBuilder::findRows() {
  Value ownRow = arith::AddIOp::create(builder, firstRow, row);
  for (int64_t block = 0; block < shape.blocks; ++block)
    rowsOf.push_back(clampRow(add(ownRow, block * shape.unitRows),
                              products.front().left, shape.getRows()));
}

/// Returns the address of this thread's part of a row in global memory if the
/// row is multiplied by few rows only; null otherwise.
Value MmaBuilder::findFirst(Value buffer, Value row) {
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

/// Loads 32-bit words. Words beyond the end of the part are zero.
Value MmaBuilder::load(Value buffer, Value row, Value k) {
  Type element = getElementTypeOrSelf(buffer);
  int64_t bytes = kElementsPerLoad * element.getIntOrFloatBitWidth() / 8;
  auto words = VectorType::get({bytes / 4}, builder.getI32Type());
  Value place = k;
  if (shape.isRagged)
    place = arith::MinUIOp::create(
        builder, k, constant(products.front().depth - kElementsPerLoad));
  Value loaded = vector::LoadOp::create(
      builder, VectorType::get({kElementsPerLoad}, element), buffer,
      ValueRange{row, place}, /*nontemporal=*/false, llvm::MaybeAlign(bytes));
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

/// Returns the begin of the thread's elements along K plus `distance`, if not
/// null, plus `more`.
Value MmaBuilder::getPlace(Value distance, int64_t more) {
  return add(distance ? arith::AddIOp::create(builder, begin, distance) : begin,
             more);
}

Value MmaBuilder::load(const Column &column, Value distance, int64_t more) {
  if (!column.pointer)
    return load(column.buffer, column.row, getPlace(distance, more));
  int64_t size = getElementBytes(getElementTypeOrSelf(column.buffer));
  Value pointer = column.pointer;
  if (distance)
    pointer =
        createOffset(builder, pointer,
                     arith::MulIOp::create(builder, distance, constant(size)));
  return createStreamingLoad(
      builder, createOffset(builder, pointer, constant(more * size)),
      kElementsPerLoad * size / 4);
}

MmaBuilder::Piece MmaBuilder::loadPiece(ArrayRef<Column> columns,
                                        Value distance, int64_t more) {
  Piece piece;
  for (const Column &column : columns)
    piece.push_back(load(column, distance, more));
  if (!products.front().hasNearRows())
    llvm::append_range(piece, loadRows(getPlace(distance, more)));
  return piece;
}

/// Widens one word of 8-bit floats to two words.
Value MmaBuilder::widen(Value loaded, int64_t step, Type element) {
  int64_t size = kElementsPerLoad / getSteps();
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

/// Returns the words of an instruction among the loaded words of `factor`.
/// 8-bit floats are widened here, after all loads have been issued.
SmallVector<Value> MmaBuilder::getWords(Value loaded, int64_t step,
                                        Value factor) {
  SmallVector<Value> words;
  Type element = products.front().getElementType();
  int64_t count = instruction.getLhs().getOwn(1) / 2, first = count * step;
  if (Type own = getElementTypeOrSelf(factor); own != element) {
    loaded = widen(loaded, step, own);
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
                           MutableArrayRef<Value> sums) {
  llvm::copy(
      instruction.multiply(builder, products.front().getElementType(),
                           instruction.getLhs().sortWords(columns, /*depth=*/1),
                           instruction.getRhs().sortWords(rows, /*depth=*/0),
                           ValueRange(sums)),
      sums.begin());
}

/// Adds the products of the piece that begins at `k` to `sums`.
void MmaBuilder::multiplyPiece(const Piece &piece, Value k,
                               SmallVectorImpl<Value> &sums) {
  if (products.front().hasNearRows())
    return multiply(piece, loadRows(k), sums);
  ArrayRef<Value> all = piece;
  multiply(all.drop_back(shape.blocks), all.take_back(shape.blocks), sums);
}

/// Multiplies one piece. `sums` has the accumulators of an instruction for each
/// chain, block, unit and product.
void MmaBuilder::multiply(ArrayRef<Value> columns, ArrayRef<Value> rows,
                          SmallVectorImpl<Value> &sums) {
  int64_t chains = getChains(), numSums = instruction.getNumSums();
  for (int64_t step = 0; step < getSteps(); ++step) {
    ArrayRef<Value> rest = columns;
    MutableArrayRef<Value> ownSums = sums;
    for (const MatmulTile &product : products)
      for (int64_t unit = 0; unit < shape.units; ++unit) {
        SmallVector<Value> words;
        for (Value load : rest.take_front(product.getLoads()))
          llvm::append_range(words, getWords(load, step, product.right));
        size_t all = instruction.getLhs().getNumElements() / 2;
        if (words.size() < all)
          words.resize(
              all, arith::ConstantOp::create(
                       builder, builder.getZeroAttr(words.front().getType())));
        rest = rest.drop_front(product.getLoads());
        for (Value row : rows) {
          createMma(words, getWords(row, step, product.left),
                    ownSums.slice(numSums * (step % chains), numSums));
          ownSums = ownSums.drop_front(numSums * chains);
        }
      }
  }
}

/// Multiplies the warp's part of K. As soon as a piece has been used, the loads
/// of the piece `inFlight` pieces later are issued.
SmallVector<Value> MmaBuilder::addUp() {
  SmallVector<Value> sums = createSums();
  SmallVector<Column> columns = findColumns(Value());
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < shape.inFlight; ++i)
    pieces.push_back(loadPiece(columns, Value(), i * shape.pieceElements));
  if (shape.pieces > shape.inFlight) {
    SmallVector<Value> inits(sums);
    for (const Piece &piece : pieces)
      llvm::append_range(inits, piece);
    int64_t ahead = shape.inFlight * shape.pieceElements;
    auto loop = scf::ForOp::create(builder, constant(ahead),
                                   constant(shape.pieces * shape.pieceElements),
                                   constant(ahead), inits);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value distance = loop.getInductionVar();
    Value here =
        arith::SubIOp::create(builder, getPlace(distance, 0), constant(ahead));
    ValueRange carried = loop.getRegionIterArgs();
    SmallVector<Value> next(carried.take_front(sums.size()));
    ValueRange loaded = carried.drop_front(sums.size());
    SmallVector<Value> yielded;
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      multiplyPiece(Piece(loaded.slice(i * piece.size(), piece.size())),
                    add(here, i * shape.pieceElements), next);
      llvm::append_range(yielded,
                         loadPiece(columns, distance, i * shape.pieceElements));
    }
    llvm::append_range(next, yielded);
    scf::YieldOp::create(builder, next);
    ValueRange results = loop.getResults();
    sums.assign(results.begin(), results.begin() + sums.size());
    results = results.drop_front(sums.size());
    for (auto [i, piece] : llvm::enumerate(pieces))
      piece = Piece(results.slice(i * piece.size(), piece.size()));
  }
  int64_t first = shape.pieces - shape.inFlight;
  for (auto [i, piece] : llvm::enumerate(pieces))
    multiplyPiece(piece, add(begin, (first + i) * shape.pieceElements), sums);
  return sums;
}

/// Multiplies the tiles of all turns (N iterations). Loads for the next turn
/// replace the pieces that have been multiplied.
void MmaBuilder::addUpInTurns() {
  SmallVector<Column> columns = findColumns(constant(0));
  SmallVector<Value> inits;
  for (int64_t i = 0; i < shape.pieces; ++i)
    llvm::append_range(inits,
                       loadPiece(columns, Value(), i * shape.pieceElements));
  int64_t size = inits.size() / shape.pieces;
  auto loop = scf::ForOp::create(builder, constant(1), constant(shape.turns),
                                 constant(1), inits);
  auto multiplyTurn = [&](ValueRange loaded, function_ref<void(int64_t)> then) {
    SmallVector<Value> sums = createSums();
    for (int64_t i = 0; i < shape.pieces; ++i) {
      multiplyPiece(Piece(loaded.slice(i * size, size)),
                    add(begin, i * shape.pieceElements), sums);
      then(i * shape.pieceElements);
    }
    return sums;
  };
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value turn = loop.getInductionVar();
    columns = findColumns(turn);
    SmallVector<Value> next;
    SmallVector<Value> sums =
        multiplyTurn(loop.getRegionIterArgs(), [&](int64_t more) {
          llvm::append_range(next, loadPiece(columns, Value(), more));
        });
    store(sums, arith::SubIOp::create(builder, turn, constant(1)));
    scf::YieldOp::create(builder, next);
  }
  store(multiplyTurn(loop.getResults(), [](int64_t) {}),
        constant(shape.turns - 1));
}

/// Stores an accumulator to the temporary, which has padded extents, or adds it
/// to an element of the result if that element exists.
void MmaBuilder::store(Value sum, const MatmulTile &product, Value buffer,
                       Value m, Value n) {
  if (buffer != product.out) {
    memref::StoreOp::create(builder, sum, buffer, ValueRange{part, m, n});
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
  memref::StoreOp::create(builder, arith::AddFOp::create(builder, old, sum),
                          buffer, ValueRange{m, n});
}

/// Stores the accumulators. Their fragment has columns of the result as rows.
void MmaBuilder::store(ArrayRef<Value> sums, Value turn) {
  int64_t chains = getChains();
  int64_t numSums = instruction.getNumSums();
  MatrixFragment acc = instruction.getAcc();
  Location loc = builder.getLoc();
  Value ownColumn =
      arith::AddIOp::create(builder, getFirstColumn(turn),
                            acc.createFirst(builder, loc, lane, /*dim=*/0));
  Value ownRow = arith::AddIOp::create(
      builder, firstRow, acc.createFirst(builder, loc, lane, /*dim=*/1));
  for (auto [product, buffer] : llvm::zip(products, buffers))
    for (int64_t unit = 0; unit < shape.units; ++unit)
      for (int64_t block = 0; block < shape.blocks; ++block) {
        SmallVector<Value> own(sums.take_front(numSums));
        for (int64_t i = 0; chains == 2 && i < numSums; ++i)
          own[i] = arith::AddFOp::create(builder, own[i], sums[numSums + i]);
        sums = sums.drop_front(numSums * chains);
        for (auto [i, sum] : llvm::enumerate(own)) {
          auto [column, down] = acc.getOffset(i);
          if (column < product.getLoads() * product.getColumnsPerLoad())
            store(sum, product, buffer,
                  add(ownRow, block * shape.unitRows + down),
                  add(ownColumn, unit * shape.unitColumns + column));
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
  findPlace(thread);
  findRows();
  if (shape.turns > 1)
    addUpInTurns();
  else
    store(addUp());
}

//===----------------------------------------------------------------------===//
// Stages in shared memory
//===----------------------------------------------------------------------===//

MmaBuilder::Piece MmaBuilder::loadStaged(MmaStages &stages,
                                         ArrayRef<Column> columns, Value stage,
                                         int64_t piece) {
  Piece loaded;
  int64_t perProduct = columns.size() / products.size();
  for (auto [index, column] : llvm::enumerate(columns))
    loaded.push_back(stages.load(
        stage, part, piece,
        add(column.row, stages.getFirstRow(index / perProduct)), number));
  for (Value row : rowsOf)
    loaded.push_back(stages.load(stage, part, piece, row, number));
  return loaded;
}

/// Multiplies with stages in shared memory. Copies of the next stages are in
/// flight while the warps multiply one stage. A stage is free once all warps
/// have reached the barrier after reading it.
SmallVector<Value> MmaBuilder::addUpStaged(MmaStages &stages, int64_t count) {
  int64_t length = MmaStages::kPieces * shape.pieceElements;
  int64_t bytes = stages.getStageBytes();
  for (int64_t i = 0; i + 1 < count; ++i) {
    stages.copy(constant(i * length), constant(i * bytes));
    stages.commit();
  }
  SmallVector<Column> columns = findColumns(Value());
  SmallVector<Value> inits = createSums();
  size_t numSums = inits.size();
  inits.push_back(constant(0));
  inits.push_back(constant((count - 1) * bytes));
  Value end = constant(shape.pieces * shape.pieceElements);
  auto loop =
      scf::ForOp::create(builder, constant(0), end, constant(length), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value stage = carried[numSums], free = carried[numSums + 1];
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
    SmallVector<Value> sums(carried.take_front(numSums));
    for (int64_t piece = 0; piece < MmaStages::kPieces; ++piece)
      multiplyPiece(loadStaged(stages, columns, stage, piece), Value(), sums);
    Value after = add(stage, bytes);
    Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         after, constant(count * bytes));
    sums.push_back(
        arith::SelectOp::create(builder, isLast, constant(0), after));
    sums.push_back(stage);
    scf::YieldOp::create(builder, sums);
  }
  // The accumulators overwrite stages that other warps may still read.
  gpu::BarrierOp::create(builder);
  return SmallVector<Value>(loop.getResults().take_front(numSums));
}

void MmaBuilder::buildStaged(Value thread, int64_t threads, Value memory,
                             int64_t count) {
  findPlace(thread);
  findRows();
  MmaStages stages(builder, products, shape, memory, thread, threads);
  store(addUpStaged(stages, count));
}
