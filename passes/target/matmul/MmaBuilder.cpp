//===- MmaBuilder.cpp - One thread's share of mma products ----------------===//

#include "passes/target/matmul/MmaBuilder.h"

#include "passes/target/matmul/MmaStages.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/SpacePointer.h"
#include "passes/target/support/StreamingLoad.h"
#include "passes/target/support/Warp.h"
#include "passes/target/support/WideLoad.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// Threads that share a row of an operand.
static constexpr int64_t kThreadsPerRow = 4;
/// With fewer accumulators than this, every element gets two, so that
/// consecutive instructions are independent.
static constexpr int64_t kMinIndependentSums = 3;
static_assert(kPieceElements == kThreadsPerRow * kElementsPerLoad);
/// Instructions per load.
static constexpr int64_t kStepsPerLoad = kPieceElements / kMmaDepth;

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

SmallVector<Value> MmaBuilder::createSums() {
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  return SmallVector<Value>(
      4 * products.size() * shape.units * shape.blocks * getChains(), zero);
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
  Value warp = arith::DivUIOp::create(builder, thread, constant(kWarpSize));
  Value lane = arith::RemUIOp::create(builder, thread, constant(kWarpSize));
  Value parts = constant(shape.parts), downTiles = constant(shape.downTiles);
  Value tile = arith::DivUIOp::create(builder, warp, parts);
  part = arith::RemUIOp::create(builder, warp, parts);
  firstColumn = arith::MulIOp::create(
      builder, arith::DivUIOp::create(builder, tile, downTiles),
      constant(shape.units * kMmaColumns));
  firstRow = arith::MulIOp::create(
      builder, arith::RemUIOp::create(builder, tile, downTiles),
      constant(shape.blocks * kMmaRows));
  row = arith::DivUIOp::create(builder, lane, constant(kThreadsPerRow));
  number = arith::RemUIOp::create(builder, lane, constant(kThreadsPerRow));
  Value length = constant(shape.pieces * kPieceElements);
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

/// Returns the columns of each product's units, two per unit.
SmallVector<MmaBuilder::Column> MmaBuilder::findColumns(Value turn) {
  Value ownColumn = arith::AddIOp::create(builder, getFirstColumn(turn), row);
  SmallVector<Column> columns;
  for (const MatmulTile &product : products) {
    int64_t loads = product.getLoads();
    int64_t count = loads == 2 ? shape.getColumns() : kMmaColumns / 2;
    if (Operation *view = product.right.getDefiningOp();
        view && product.isSkinny())
      setReadOnce(view);
    for (int64_t unit = 0; unit < shape.units; ++unit)
      for (int64_t half = 0; half < loads; ++half) {
        Value own = clampRow(
            add(ownColumn, unit * kMmaColumns + half * kMmaColumns / 2),
            product.right, count);
        columns.push_back({product.right, own, findFirst(product.right, own)});
      }
  }
  return columns;
}

void MmaBuilder::findRows() {
  Value ownRow = arith::AddIOp::create(builder, firstRow, row);
  for (int64_t block = 0; block < shape.blocks; ++block)
    rowsOf.push_back(clampRow(add(ownRow, block * kMmaRows),
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
  constexpr int64_t size = kElementsPerLoad / kStepsPerLoad;
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

/// Returns two operands of an instruction from the loaded words of `factor`.
/// 8-bit floats are widened here, after all loads have been issued.
SmallVector<Value> MmaBuilder::getWords(Value loaded, int64_t step,
                                        Value factor) {
  SmallVector<Value> words;
  Type element = products.front().getElementType();
  int64_t first = 2 * step;
  if (Type own = getElementTypeOrSelf(factor); own != element) {
    loaded = widen(loaded, step, own);
    first = 0;
  }
  for (int64_t i = 0; i < 2; ++i) {
    Value word = vector::ExtractOp::create(builder, loaded, first + i);
    if (element.isF16())
      word =
          LLVM::BitcastOp::create(builder, VectorType::get({2}, element), word);
    words.push_back(word);
  }
  return words;
}

/// Creates one instruction. `columns` are the words of both columns of a unit,
/// `rows` the words of a block.
void MmaBuilder::createMma(ArrayRef<Value> columns, ArrayRef<Value> rows,
                           MutableArrayRef<Value> sums) {
  bool isHalf = products.front().getElementType().isF16();
  auto type = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  auto result = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, builder.getF32Type()));
  auto mma = NVVM::MmaOp::create(
      builder, result,
      ValueRange{columns[0], columns[2], columns[1], columns[3]}, rows,
      ValueRange(sums), ArrayRef<int64_t>{kMmaColumns, kMmaRows, kMmaDepth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    sums[i] = LLVM::ExtractValueOp::create(builder, mma.getRes(), i);
}

/// Adds the products of the piece that begins at `k` to `sums`.
void MmaBuilder::multiplyPiece(const Piece &piece, Value k,
                               SmallVectorImpl<Value> &sums) {
  if (products.front().hasNearRows())
    return multiply(piece, loadRows(k), sums);
  ArrayRef<Value> all = piece;
  multiply(all.drop_back(shape.blocks), all.take_back(shape.blocks), sums);
}

/// Multiplies one piece. `sums` has four accumulators per chain, block, unit
/// and product.
void MmaBuilder::multiply(ArrayRef<Value> columns, ArrayRef<Value> rows,
                          SmallVectorImpl<Value> &sums) {
  int64_t chains = getChains();
  for (int64_t step = 0; step < 2; ++step) {
    ArrayRef<Value> rest = columns;
    MutableArrayRef<Value> ownSums = sums;
    for (const MatmulTile &product : products)
      for (int64_t unit = 0; unit < shape.units; ++unit) {
        SmallVector<Value> words = getWords(rest.front(), step, product.right);
        if (product.getLoads() == 2)
          llvm::append_range(words, getWords(rest[1], step, product.right));
        else
          words.append(
              2, arith::ConstantOp::create(
                     builder, builder.getZeroAttr(words.front().getType())));
        rest = rest.drop_front(product.getLoads());
        for (Value row : rows) {
          createMma(words, getWords(row, step, product.left),
                    ownSums.slice(4 * (step % chains), 4));
          ownSums = ownSums.drop_front(4 * chains);
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
    pieces.push_back(loadPiece(columns, Value(), i * kPieceElements));
  if (shape.pieces > shape.inFlight) {
    SmallVector<Value> inits(sums);
    for (const Piece &piece : pieces)
      llvm::append_range(inits, piece);
    int64_t ahead = shape.inFlight * kPieceElements;
    auto loop = scf::ForOp::create(builder, constant(ahead),
                                   constant(shape.pieces * kPieceElements),
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
                    add(here, i * kPieceElements), next);
      llvm::append_range(yielded,
                         loadPiece(columns, distance, i * kPieceElements));
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
    multiplyPiece(piece, add(begin, (first + i) * kPieceElements), sums);
  return sums;
}

/// Multiplies the tiles of all turns (N iterations). Loads for the next turn
/// replace the pieces that have been multiplied.
void MmaBuilder::addUpInTurns() {
  SmallVector<Column> columns = findColumns(constant(0));
  SmallVector<Value> inits;
  for (int64_t i = 0; i < shape.pieces; ++i)
    llvm::append_range(inits, loadPiece(columns, Value(), i * kPieceElements));
  int64_t size = inits.size() / shape.pieces;
  auto loop = scf::ForOp::create(builder, constant(1), constant(shape.turns),
                                 constant(1), inits);
  auto multiplyTurn = [&](ValueRange loaded, function_ref<void(int64_t)> then) {
    SmallVector<Value> sums = createSums();
    for (int64_t i = 0; i < shape.pieces; ++i) {
      multiplyPiece(Piece(loaded.slice(i * size, size)),
                    add(begin, i * kPieceElements), sums);
      then(i * kPieceElements);
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

/// Stores the accumulators. A thread holds two rows of column `n` and of column
/// `n + 8`.
void MmaBuilder::store(ArrayRef<Value> sums, Value turn) {
  int64_t chains = getChains();
  Value ownColumn = arith::AddIOp::create(builder, getFirstColumn(turn), row);
  Value ownRow = arith::AddIOp::create(
      builder, firstRow, arith::MulIOp::create(builder, number, constant(2)));
  for (auto [product, buffer] : llvm::zip(products, buffers))
    for (int64_t unit = 0; unit < shape.units; ++unit)
      for (int64_t block = 0; block < shape.blocks; ++block) {
        SmallVector<Value> own(sums.take_front(4));
        for (int64_t i = 0; chains == 2 && i < 4; ++i)
          own[i] = arith::AddFOp::create(builder, own[i], sums[4 + i]);
        sums = sums.drop_front(4 * chains);
        for (int64_t i = 0; i < 2 * product.getLoads(); ++i)
          store(own[i], product, buffer, add(ownRow, block * kMmaRows + i % 2),
                add(ownColumn, unit * kMmaColumns + i / 2 * kMmaColumns / 2));
      }
}

void MmaBuilder::build(Value thread, int64_t threads) {
  int64_t busy = shape.getBusyWarps() * kWarpSize;
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
  int64_t length = MmaStages::kPieces * kPieceElements;
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
  Value end = constant(shape.pieces * kPieceElements);
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
