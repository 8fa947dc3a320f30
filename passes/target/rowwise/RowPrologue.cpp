//===- RowPrologue.cpp - Ops that compute shared rows ---------------------===//

#include "passes/target/rowwise/RowPrologue.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/packets/PacketPolling.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the elements of a row per thread for which the inputs of the
/// last op are loaded early. The registers cannot hold more elements, both in
/// their own type and as f32, together with these inputs.
static constexpr int64_t kMaxElementsWithInputs = 32;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// Returns true if each iteration of an op, which may be a reduction, depends
/// on the elements of its operands and on constants only: not on loop indices
/// or other memory.
static bool dependsOnElementsAndConstants(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value input : op.getInputs())
    if (!isa<ShapedType>(input.getType()))
      captured.insert(input);
  return llvm::all_of(captured, isConstant) &&
         llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isMemoryEffectFree(&inner) &&
                               inner.getNumRegions() == 0 &&
                               !isa<linalg::IndexOp>(inner);
                      });
}

static int64_t getDim(Value buffer, int64_t dim) {
  return cast<MemRefType>(buffer.getType()).getDimSize(dim);
}

/// Returns true for `scalar = f(scalar, ...)`, which does not read the row.
static bool isScalarOp(linalg::GenericOp op) {
  return op.getNumLoops() == 1 && op.getNumParallelLoops() == 1;
}

/// Returns the combining op of `scalar += f(row, ...)`; null for other ops.
static Operation *getCombiner(linalg::GenericOp op) {
  if (op.getNumLoops() != 2 || op.getNumReductionLoops() != 1)
    return nullptr;
  Value out = op.getBlock()->getArguments().back();
  Value result = op.getBlock()->getTerminator()->getOperand(0);
  Operation *combiner = result.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !out.hasOneUse() ||
      *out.getUsers().begin() != combiner ||
      !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

RowPrologue::RowPrologue(Value rows, ArrayRef<Operation *> users,
                         scf::ForOp vctas)
    : rows(rows) {
  if (match(users, vctas)) {
    llvm::sort(ops, [](linalg::GenericOp a, linalg::GenericOp b) {
      return a->isBeforeInBlock(b);
    });
    return;
  }
  ops.clear();
}

/// Returns true for a temporary with one scalar per row.
bool RowPrologue::isRowScalar(Value value) const {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.getRank() == 1 && type.getDimSize(0) == getDim(rows, 0) &&
         value.getDefiningOp<memref::AllocaOp>();
}

/// Adds an input: rows of a body argument, or one row that all rows share.
bool RowPrologue::addInput(Value input, AffineMap map) {
  auto type = dyn_cast<MemRefType>(input.getType());
  int64_t size = getDim(rows, 1);
  bool isAligned =
      isAlignedArgument(input) || input.getDefiningOp<memref::AllocaOp>();
  if (!type || !type.getLayout().isIdentity() || !isAligned ||
      !type.getElementType().isIntOrFloat())
    return false;
  AffineExpr column = getAffineDimExpr(1, map.getContext());
  bool isRow = type.getRank() == 2 && type.getDimSize(0) == getDim(rows, 0) &&
               type.getDimSize(1) == size && map.isIdentity();
  bool isShared = type.getRank() == 1 && type.getDimSize(0) == size &&
                  map.getNumResults() == 1 && map.getResult(0) == column;
  if (!isRow && !isShared)
    return false;
  if (!llvm::is_contained(inputs, input))
    inputs.push_back(input);
  return true;
}

/// Matches all ops that write a row scalar, each op once.
bool RowPrologue::matchRowScalar(Value scalar, scf::ForOp vctas) {
  for (Operation *user : scalar.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (op && (llvm::is_contained(ops, op) ||
               !llvm::is_contained(op.getDpsInits(), scalar)))
      continue;
    if (!op || !dependsOnElementsAndConstants(op) ||
        op->getBlock() != vctas->getBlock() || !op->isBeforeInBlock(vctas) ||
        (!isScalarOp(op) && !getCombiner(op)))
      return false;
    ops.push_back(op);
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value value = operand->get();
      if (!isa<ShapedType>(value.getType()))
        continue;
      // A reduction may read the result of another reduction, for example to
      // subtract the mean.
      if (isScalarOp(op) ||
          (isRowScalar(value)
               ? !matchRowScalar(value, vctas)
               : !addInput(value, op.getMatchingIndexingMap(operand))))
        return false;
    }
  }
  return true;
}

bool RowPrologue::match(ArrayRef<Operation *> users, scf::ForOp vctas) {
  if (!rows.getDefiningOp<memref::AllocaOp>())
    return false;
  linalg::GenericOp maker;
  for (Operation *user : rows.getUsers()) {
    if (llvm::is_contained(users, user))
      continue;
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (maker || !op || !dependsOnElementsAndConstants(op) ||
        op.getDpsInits()[0] != rows)
      return false;
    maker = op;
  }
  if (!maker || maker->getBlock() != vctas->getBlock() ||
      !maker->isBeforeInBlock(vctas) || maker.getNumLoops() != 2 ||
      maker.getNumParallelLoops() != 2 ||
      !maker.getIndexingMapsArray().back().isIdentity())
    return false;
  ops.push_back(maker);
  for (OpOperand *operand : maker.getDpsInputOperands()) {
    Value value = operand->get();
    AffineMap map = maker.getMatchingIndexingMap(operand);
    if (isRowScalar(value)
            ? !matchRowScalar(value, vctas)
            : isa<ShapedType>(value.getType()) && !addInput(value, map))
      return false;
  }
  // No other op may read the row scalars.
  return llvm::all_of(ops, [&](linalg::GenericOp op) {
    Value out = op.getDpsInits()[0];
    return out == rows || llvm::all_of(out.getUsers(), [&](auto *user) {
             return llvm::is_contained(ops, user);
           });
  });
}

/// Returns true if threads load four packets at once.
static bool loadsFourPackets(ReceivePacketsOp op) {
  std::optional<PacketRows> rows = PacketRows::match(op.getPackets().getType());
  return rows && rows->perLoad == kPacketsPerLoad &&
         op.getPerLoad().value_or(kPacketsPerLoad) == kPacketsPerLoad;
}

/// Returns the op that receives `input` if only matched ops read the input.
/// Each thread then receives only the elements that it computes.
ReceivePacketsOp RowPrologue::getReceived(Value input) const {
  ReceivePacketsOp received;
  for (Operation *user : input.getUsers()) {
    if (llvm::is_contained(ops, user))
      continue;
    auto op = dyn_cast<ReceivePacketsOp>(user);
    if (!op || received || !loadsFourPackets(op) ||
        op->getBlock() != ops.front()->getBlock() ||
        !op->isBeforeInBlock(ops.front()))
      return nullptr;
    received = op;
  }
  return received;
}

void RowPrologue::erase() {
  SmallVector<Operation *> dead;
  for (Value input : inputs)
    if (ReceivePacketsOp received = getReceived(input)) {
      dead.push_back(input.getDefiningOp());
      received.erase();
    }
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    if (auto buffer = op.getDpsInits()[0].getDefiningOp())
      if (!llvm::is_contained(dead, buffer))
        dead.push_back(buffer);
    op.erase();
  }
  for (Operation *buffer : dead)
    if (buffer->use_empty())
      buffer->erase();
  ops.clear();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

int64_t RowShares::getStep() const { return warpSize * width; }

Value RowShares::getFirst(ImplicitLocOpBuilder &builder, Value warpOfRow,
                          Value inWarp) const {
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, value, arith::ConstantIndexOp::create(builder, factor));
  };
  return arith::AddIOp::create(builder, times(warpOfRow, loads * getStep()),
                               times(inWarp, width));
}

namespace {
/// Builds a row with the threads of several warps.
class RowBuilder {
public:
  RowBuilder(ImplicitLocOpBuilder &builder, const ThreadIndices &indices,
             const RowShares &shares, int64_t warps)
      : builder(builder), indices(indices), shares(shares), warps(warps) {}

  void load(Value input);
  void receive(Value input, Value packets);
  void buildRowScalar(linalg::GenericOp op);
  void buildReduction(linalg::GenericOp op);
  SmallVector<Value> buildRow(linalg::GenericOp op);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value getElement(int64_t load);
  Value import(Value constant);
  Value inlineRegion(linalg::GenericOp op, ArrayRef<Value> values);
  SmallVector<Value> getElements(linalg::GenericOp op, int64_t load,
                                 int64_t element);
  Value combine(Operation *combiner, Value a, Value b);
  Value combineThreads(Operation *combiner, Value value, int64_t threads);
  Value combineWarps(Operation *combiner, Value value);

  ImplicitLocOpBuilder &builder;
  ThreadIndices indices;
  RowShares shares;
  int64_t warps;
  llvm::DenseMap<Value, Value> rowScalars, constants;
  llvm::DenseMap<Value, SmallVector<Value>> loaded;
};
} // namespace

/// Returns the first element that the thread loads with load `load`.
Value RowBuilder::getElement(int64_t load) {
  return arith::AddIOp::create(
      builder, shares.getFirst(builder, indices.warpOfRow, indices.inWarp),
      index(load * shares.getStep()));
}

void RowBuilder::load(Value input) {
  auto type = cast<MemRefType>(input.getType());
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> element(type.getRank() - 1, indices.row);
    element.push_back(getElement(load));
    int64_t bytes = shares.width * type.getElementTypeBitWidth() / 8;
    loaded[input].push_back(vector::LoadOp::create(
        builder, VectorType::get(shares.width, type.getElementType()), input,
        element, /*nontemporal=*/false, llvm::MaybeAlign(bytes)));
  }
}

void RowBuilder::receive(Value input, Value packets) {
  Value size = index(cast<MemRefType>(input.getType()).getShape().back());
  Value begin = arith::MulIOp::create(builder, indices.row, size);
  SmallVector<PacketLoad> loads;
  for (int64_t load = 0; load < shares.loads; ++load)
    for (int64_t at = 0; at < shares.width; at += kPacketsPerLoad) {
      Value element = arith::AddIOp::create(
          builder, arith::AddIOp::create(builder, begin, getElement(load)),
          index(at));
      Value loadIndex =
          arith::DivUIOp::create(builder, element, index(kPacketsPerLoad));
      loads.push_back({getPacketAddress(builder, packets, loadIndex)});
    }
  SmallVector<Value> words = pollPackets(builder, loads);
  Type element = cast<MemRefType>(input.getType()).getElementType();
  int64_t count = shares.width / kPacketsPerLoad;
  for (int64_t load = 0; load < shares.loads; ++load) {
    Value all = vector::FromElementsOp::create(
        builder, VectorType::get(count, builder.getI64Type()),
        ArrayRef(words).slice(load * count, count));
    loaded[input].push_back(vector::BitCastOp::create(
        builder, VectorType::get(shares.width, element), all));
  }
}

/// Clones a constant from another function once.
Value RowBuilder::import(Value constant) {
  Value &imported = constants[constant];
  if (!imported)
    imported = builder.clone(*constant.getDefiningOp())->getResult(0);
  return imported;
}

Value RowBuilder::inlineRegion(linalg::GenericOp op, ArrayRef<Value> values) {
  IRMapping mapping;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value constant : captured)
    mapping.map(constant, import(constant));
  for (auto [argument, value] :
       llvm::zip(op.getBlock()->getArguments(), values))
    mapping.map(argument, value);
  for (Operation &inner : op.getBlock()->without_terminator())
    builder.clone(inner, mapping);
  return mapping.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

Value RowBuilder::combine(Operation *combiner, Value a, Value b) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  return builder.clone(*combiner, mapping)->getResult(0);
}

/// Returns the elements of an op's inputs.
SmallVector<Value> RowBuilder::getElements(linalg::GenericOp op, int64_t load,
                                           int64_t element) {
  SmallVector<Value> values;
  for (Value input : op.getInputs()) {
    if (!isa<ShapedType>(input.getType()))
      values.push_back(import(input));
    else if (Value scalar = rowScalars.lookup(input))
      values.push_back(scalar);
    else
      values.push_back(
          vector::ExtractOp::create(builder, loaded[input][load], element));
  }
  return values;
}

void RowBuilder::buildRowScalar(linalg::GenericOp op) {
  Value out = op.getDpsInits()[0];
  SmallVector<Value> values;
  for (Value input : op.getInputs())
    values.push_back(import(input));
  Value before = rowScalars.lookup(out);
  if (!before) {
    // The initial content of the buffer has no reader.
    Type type = cast<MemRefType>(out.getType()).getElementType();
    before = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  }
  values.push_back(before);
  rowScalars[out] = inlineRegion(op, values);
}

/// Combines the values of `threads` neighbouring threads, a power of two. All
/// threads get the result.
Value RowBuilder::combineThreads(Operation *combiner, Value value,
                                 int64_t threads) {
  for (int32_t distance = threads / 2; distance > 0; distance /= 2)
    value =
        combine(combiner, value,
                gpu::ShuffleOp::create(builder, value, distance,
                                       shares.warpSize, gpu::ShuffleMode::XOR)
                    .getShuffleResult());
  return value;
}

/// Combines the values of a row's warps through shared memory. Threads without
/// a warp of the row contribute the neutral element.
Value RowBuilder::combineWarps(Operation *combiner, Value value) {
  if (shares.warpsPerRow == 1)
    return value;
  Value all =
      createTemporary(builder, MemRefType::get({warps}, value.getType()),
                      abi::kGpuBufferAlignment);
  Value leads = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                      indices.inWarp, index(0));
  auto guard = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    memref::StoreOp::create(builder, value, all, indices.warp);
  }
  gpu::BarrierOp::create(builder);
  Value first =
      arith::MulIOp::create(builder, indices.row, index(shares.warpsPerRow));
  int64_t threads = llvm::PowerOf2Ceil(shares.warpsPerRow);
  Value thread =
      arith::RemUIOp::create(builder, indices.inWarp, index(threads));
  Value warpOfRow = thread;
  if (threads > shares.warpsPerRow)
    warpOfRow =
        arith::MinUIOp::create(builder, thread, index(shares.warpsPerRow - 1));
  Value one = memref::LoadOp::create(
      builder, all,
      ValueRange{arith::AddIOp::create(builder, first, warpOfRow)});
  if (threads > shares.warpsPerRow) {
    Value hasWarp = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                          thread, index(shares.warpsPerRow));
    Value neutral =
        arith::ConstantOp::create(builder, *arith::getNeutralElement(combiner));
    one = arith::SelectOp::create(builder, hasWarp, one, neutral);
  }
  return combineThreads(combiner, one, threads);
}

void RowBuilder::buildReduction(linalg::GenericOp op) {
  Operation *combiner = getCombiner(op);
  Value neutral =
      arith::ConstantOp::create(builder, *arith::getNeutralElement(combiner));
  // One accumulator per load makes consecutive additions independent.
  SmallVector<Value> results;
  for (int64_t load = 0; load < shares.loads; ++load) {
    Value result = neutral;
    for (int64_t element = 0; element < shares.width; ++element) {
      SmallVector<Value> values = getElements(op, load, element);
      values.push_back(result);
      result = inlineRegion(op, values);
    }
    results.push_back(result);
  }
  Value result = results.front();
  for (Value other : ArrayRef(results).drop_front())
    result = combine(combiner, result, other);
  result =
      combineWarps(combiner, combineThreads(combiner, result, shares.warpSize));
  Value &scalar = rowScalars[op.getDpsInits()[0]];
  scalar = scalar ? combine(combiner, scalar, result) : result;
}

SmallVector<Value> RowBuilder::buildRow(linalg::GenericOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  SmallVector<Value> vectors;
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> elements;
    for (int64_t element = 0; element < shares.width; ++element) {
      SmallVector<Value> values = getElements(op, load, element);
      // An op that writes the row does not read its output.
      values.push_back(arith::ConstantOp::create(
          builder, builder.getZeroAttr(type.getElementType())));
      elements.push_back(inlineRegion(op, values));
    }
    vectors.push_back(vector::FromElementsOp::create(
        builder, VectorType::get(shares.width, type.getElementType()),
        elements));
  }
  return vectors;
}

bool RowPrologue::isOnlyOfLast(Value input) const {
  return llvm::none_of(ArrayRef(ops).drop_back(), [&](linalg::GenericOp op) {
    return llvm::is_contained(op.getDpsInputs(), input);
  });
}

SmallVector<Value> RowPrologue::build(ImplicitLocOpBuilder &builder,
                                      const ThreadIndices &indices,
                                      const RowShares &shares,
                                      int64_t warps) const {
  RowBuilder row(builder, indices, shares, warps);
  bool isLong = shares.loads * shares.width > kMaxElementsWithInputs;
  // Loads from memory are issued before the thread polls for packets.
  SmallVector<std::pair<Value, ReceivePacketsOp>> received;
  SmallVector<Value> late;
  for (Value input : inputs) {
    if (ReceivePacketsOp op = getReceived(input))
      received.push_back({input, op});
    else if (isLong && isOnlyOfLast(input))
      late.push_back(input);
    else
      row.load(input);
  }
  for (auto [input, op] : received)
    row.receive(input, op.getPackets());
  for (linalg::GenericOp op : ArrayRef(ops).drop_back()) {
    if (op.getNumReductionLoops() != 0)
      row.buildReduction(op);
    else
      row.buildRowScalar(op);
  }
  for (Value input : late)
    row.load(input);
  return row.buildRow(ops.back());
}
