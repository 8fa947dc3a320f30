//===- RowPrologue.cpp - Ops that compute shared rows ---------------------===//

#include "passes/target/rowwise/RowPrologue.h"

#include "passes/target/support/Alignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the elements of a row per thread for which the inputs of the
/// last op are loaded early. The registers cannot hold more elements, both in
/// their own type and as f32, together with these inputs.
static constexpr int64_t kMaxElementsWithInputs = 32;
/// Upper bound of the registers of a thread for inputs and intermediate rows.
/// With more of them, intermediate rows stay in shared memory.
static constexpr int64_t kMaxIntermediateWords = 48;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static int64_t getDim(Value buffer, int64_t dim) {
  return cast<MemRefType>(buffer.getType()).getDimSize(dim);
}

RowPrologue::RowPrologue(Value rows, ArrayRef<Operation *> users,
                         scf::ForOp vctas, const RowShares &shares)
    : rows(rows), users(users), vctas(vctas), shares(shares) {
  // Intermediate rows stay in memory if other ops read them, too, or if
  // registers cannot hold them.
  if (!match(/*keepsIntermediates=*/true) &&
      !match(/*keepsIntermediates=*/false))
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

/// Returns true for an op before the loop over vCTAs.
bool RowPrologue::isBeforeLoop(Operation *op) const {
  scf::ForOp loop = vctas;
  return op->getBlock() == loop->getBlock() && op->isBeforeInBlock(loop);
}

/// Matches all ops that write a row scalar, each op once.
bool RowPrologue::matchRowScalar(Value scalar) {
  for (Operation *user : scalar.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (op && (llvm::is_contained(ops, op) ||
               !llvm::is_contained(op.getDpsInits(), scalar)))
      continue;
    if (!op || !dependsOnElementsAndConstants(op) || !isBeforeLoop(op) ||
        (!isScalarOp(op) && !getCombiner(op)))
      return false;
    ops.push_back(op);
    for (OpOperand *operand : op.getDpsInputOperands())
      // A reduction may read the result of another reduction, for example to
      // subtract the mean.
      if (isa<ShapedType>(operand->get().getType()) &&
          (isScalarOp(op) || !matchInput(op, operand)))
        return false;
  }
  return true;
}

/// Returns the op that writes a temporary which may stay in registers: a row
/// that only structured ops access, of which one writes.
linalg::GenericOp RowPrologue::getIntermediateWriter(Value value) const {
  auto type = cast<MemRefType>(value.getType());
  if (value == rows || !value.getDefiningOp<memref::AllocaOp>() ||
      type.getShape() != cast<MemRefType>(rows.getType()).getShape() ||
      !type.getLayout().isIdentity())
    return nullptr;
  linalg::GenericOp writer;
  for (Operation *user : value.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (!op)
      return nullptr;
    if (!llvm::is_contained(op.getDpsInits(), value))
      continue;
    if (writer)
      return nullptr;
    writer = op;
  }
  return writer && writesRow(writer) && isBeforeLoop(writer) ? writer : nullptr;
}

/// Matches the ops that compute an input of `op`: row scalars, and rows that
/// stay in registers, such as a sum over ranks. Other inputs are loaded.
bool RowPrologue::matchInput(linalg::GenericOp op, OpOperand *operand) {
  Value value = operand->get();
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (isRowScalar(value))
    return matchRowScalar(value);
  linalg::GenericOp writer = keepsIntermediates && map.isIdentity()
                                 ? getIntermediateWriter(value)
                                 : nullptr;
  if (!writer)
    return addInput(value, map);
  return llvm::is_contained(ops, writer) || matchRow(writer);
}

/// Matches an op that writes a row, and the ops that compute its inputs.
bool RowPrologue::matchRow(linalg::GenericOp op) {
  ops.push_back(op);
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return !isa<ShapedType>(operand->get().getType()) ||
           matchInput(op, operand);
  });
}

/// Returns the op that computes the rows. If the rows first hold received
/// packets, other ops and a receive may access them as well.
linalg::GenericOp RowPrologue::getMaker() const {
  linalg::GenericOp maker;
  for (Operation *user : rows.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (llvm::is_contained(users, user) || isa<ReceivePacketsOp>(user) ||
        (op && op.getDpsInits()[0] != rows) || op == maker)
      continue;
    if (maker || !op)
      return nullptr;
    maker = op;
  }
  return maker && writesRow(maker) && isBeforeLoop(maker) ? maker : nullptr;
}

/// Returns true if no other op reads what the ops compute.
bool RowPrologue::ownsResults() const {
  return llvm::all_of(ops, [&](linalg::GenericOp op) {
    Value out = op.getDpsInits()[0];
    return out == rows || llvm::all_of(out.getUsers(), [&](auto *user) {
             return llvm::is_contained(ops, user);
           });
  });
}

/// Returns true if the rows hold nothing but the result of the last op, or
/// packets that the threads receive in registers.
bool RowPrologue::ownsRows() const {
  bool isInput = llvm::any_of(
      received, [&](ReceivePacketsOp op) { return op.getValues() == rows; });
  return llvm::all_of(
             rows.getUsers(),
             [&](Operation *user) {
               return llvm::is_contained(users, user) || user == ops.back() ||
                      (isInput && (llvm::is_contained(received, user) ||
                                   llvm::is_contained(ops, user)));
             }) &&
         (isInput || !llvm::is_contained(inputs, rows));
}

/// Returns true if the inputs still have the values that the first op reads
/// when the loop over vCTAs begins. Another op may reuse a temporary.
bool RowPrologue::inputsLast() const {
  Operation *first = ops.front();
  scf::ForOp loop = vctas;
  auto keepsInput = [&](Operation *user, Value input) {
    Operation *op = first->getBlock()->findAncestorOpInBlock(*user);
    if (!op || llvm::is_contained(ops, user) ||
        llvm::is_contained(received, user) || !op->isBeforeInBlock(loop))
      return true;
    if (op->isBeforeInBlock(first))
      return !isa<ViewLikeOpInterface>(op);
    auto reader = dyn_cast<DestinationStyleOpInterface>(op);
    return reader && !llvm::is_contained(reader.getDpsInits(), input);
  };
  return llvm::all_of(inputs, [&](Value input) {
    return llvm::all_of(input.getUsers(), [&](Operation *user) {
      return keepsInput(user, input);
    });
  });
}

bool RowPrologue::match(bool keepsIntermediates) {
  this->keepsIntermediates = keepsIntermediates;
  ops.clear();
  inputs.clear();
  received.clear();
  linalg::GenericOp maker =
      rows.getDefiningOp<memref::AllocaOp>() ? getMaker() : linalg::GenericOp();
  if (!maker || !matchRow(maker) || !ownsResults())
    return false;
  llvm::sort(ops, [](linalg::GenericOp a, linalg::GenericOp b) {
    return a->isBeforeInBlock(b);
  });
  for (Value input : inputs)
    if (ReceivePacketsOp op = findReceived(input))
      received.push_back(op);
  return ops.back() == maker && ownsRows() && fits() && inputsLast();
}

/// Returns true if threads load four packets at once, in rows without gaps.
static bool loadsFourPackets(ReceivePacketsOp op) {
  std::optional<PacketRows> rows = PacketRows::match(op.getPackets().getType());
  return rows && rows->count == 1 && rows->perLoad == kPacketsPerLoad &&
         op.getPerLoad().value_or(kPacketsPerLoad) == kPacketsPerLoad;
}

/// Returns the op that receives `input` if only matched ops read the input.
/// Each thread then receives only the elements that it computes.
ReceivePacketsOp RowPrologue::findReceived(Value input) const {
  ReceivePacketsOp found;
  for (Operation *user : input.getUsers()) {
    if (llvm::is_contained(ops, user) ||
        (input == rows && llvm::is_contained(users, user)))
      continue;
    auto op = dyn_cast<ReceivePacketsOp>(user);
    if (!op || found || !loadsFourPackets(op) ||
        op->getBlock() != ops.front()->getBlock() ||
        !op->isBeforeInBlock(ops.front()))
      return nullptr;
    found = op;
  }
  return found;
}

int64_t RowPrologue::countIntermediates() const {
  return llvm::count_if(ArrayRef(ops).drop_back(), [](linalg::GenericOp op) {
    return op.getNumParallelLoops() == 2;
  });
}

/// Returns true if a thread can hold its elements of all rows in registers.
bool RowPrologue::fits() const {
  // The elements of intermediates have 32 bits.
  constexpr int64_t kWordBits = 32;
  int64_t bits = countIntermediates() * kWordBits;
  for (Value input : inputs)
    bits += getElementTypeOrSelf(input).getIntOrFloatBitWidth();
  int64_t words = shares.getElements() * bits / kWordBits;
  return (countIntermediates() == 0 || words <= kMaxIntermediateWords) &&
         (received.empty() || shares.width % kPacketsPerLoad == 0);
}

void RowPrologue::erase() {
  SmallVector<Operation *> dead;
  for (ReceivePacketsOp op : received) {
    dead.push_back(op.getValues().getDefiningOp());
    op.erase();
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

bool RowPrologue::isOnlyOfLast(Value input) const {
  return llvm::none_of(ArrayRef(ops).drop_back(), [&](linalg::GenericOp op) {
    return llvm::is_contained(op.getDpsInputs(), input);
  });
}

SmallVector<Value> RowPrologue::build(ImplicitLocOpBuilder &builder,
                                      const ThreadIndices &indices,
                                      int64_t warps) const {
  RowBuilder row(builder, indices, shares, warps);
  bool isLong = shares.getElements() > kMaxElementsWithInputs;
  // Loads from memory are issued before the thread polls for packets.
  SmallVector<Value> late;
  for (Value input : inputs) {
    if (llvm::any_of(received, [&](ReceivePacketsOp op) {
          return op.getValues() == input;
        }))
      continue;
    if (isLong && isOnlyOfLast(input))
      late.push_back(input);
    else
      row.load(input);
  }
  row.receive(received);
  for (linalg::GenericOp op : ArrayRef(ops).drop_back()) {
    if (op.getNumReductionLoops() != 0)
      row.buildReduction(op);
    else if (op.getNumLoops() == 1)
      row.buildRowScalar(op);
    else
      row.buildIntermediate(op);
  }
  for (Value input : late)
    row.load(input);
  return row.buildRow(ops.back());
}
