//===- FuseRowPrologues.cpp - Fuses ops that compute shared rows ----------===//

#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/rowwise/Passes.h"
#include "passes/target/rowwise/RowPrologue.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/support/Warp.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FUSEROWPROLOGUESPASS
#include "passes/target/rowwise/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Bytes after which the banks of shared memory repeat.
static constexpr int64_t kBankBytes = 128;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns the temporaries with rows that ops before the loop over vCTAs write.
static SmallVector<Value> findRows(scf::ForOp vctas) {
  llvm::SetVector<Value> rows;
  for (auto op : vctas->getBlock()->getOps<linalg::GenericOp>()) {
    if (!op->isBeforeInBlock(vctas) || op.getNumDpsInits() != 1)
      continue;
    Value out = op.getDpsInits()[0];
    auto type = dyn_cast<MemRefType>(out.getType());
    if (type && type.getRank() == 2 && type.hasStaticShape() &&
        type.getLayout().isIdentity() && type.getElementType().isIntOrFloat() &&
        out.getDefiningOp<memref::AllocaOp>())
      rows.insert(out);
  }
  return rows.takeVector();
}

/// Returns the users of `rows` inside of the loop over vCTAs.
static SmallVector<Operation *> getReaders(Value rows, scf::ForOp vctas) {
  SmallVector<Operation *> readers;
  for (Operation *user : rows.getUsers())
    if (vctas->isProperAncestor(user))
      readers.push_back(user);
  return readers;
}

//===----------------------------------------------------------------------===//
// Padding of rows
//===----------------------------------------------------------------------===//

/// Pads the row pitch by half a bank cycle: neighbouring rows begin in
/// different halves of the banks, which suits loads of 64 bytes of each of
/// eight rows at once. Rows with other readers keep their pitch.
static void padRows(Value rows, ArrayRef<Operation *> readers) {
  auto type = cast<MemRefType>(rows.getType());
  int64_t bytes = getElementBytes(type.getElementType());
  auto isLoad = [](Operation *reader) {
    auto dim = dyn_cast<memref::DimOp>(reader);
    return isa<vector::LoadOp>(reader) || (dim && dim.getConstantIndex() == 0);
  };
  if (type.getDimSize(1) * bytes % kBankBytes != 0 ||
      !llvm::all_of(readers, isLoad))
    return;
  auto old = rows.getDefiningOp<memref::AllocaOp>();
  OpBuilder builder(old);
  SmallVector<int64_t> shape(type.getShape());
  shape[1] += kBankBytes / 2 / bytes;
  auto padded = memref::AllocaOp::create(
      builder, old.getLoc(), MemRefType::get(shape, type.getElementType()),
      old.getAlignmentAttr());
  old.replaceAllUsesWith(padded.getResult());
  old.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Computes rows with one or more warps each. Returns the number of rows, or 0
/// if the rows do not qualify.
static int64_t computeByWarps(Value rows, scf::ForOp vctas, int64_t threads,
                              int64_t warpSize) {
  int64_t warps = threads / warpSize;
  auto type = cast<MemRefType>(rows.getType());
  std::optional<RowShares> shares =
      divideRows(type.getDimSize(0), type.getDimSize(1),
                 getElementBytes(type.getElementType()), warps, warpSize);
  if (!shares)
    return 0;
  SmallVector<Operation *> readers = getReaders(rows, vctas);
  RowPrologue prologue(rows, readers, vctas, *shares);
  if (!prologue.isComputed())
    return 0;
  ImplicitLocOpBuilder builder(vctas.getLoc(), vctas);
  Value thread = createMappedLoop(builder, threads);
  ThreadIndices indices =
      getThreadIndices(builder, thread, type.getDimSize(0), warps, *shares);
  SmallVector<Value> vectors = prologue.build(builder, indices, warps);
  storeRow(builder, indices, vectors, rows, warps, *shares);
  prologue.erase();
  padRows(rows, getReaders(rows, vctas));
  return type.getDimSize(0);
}

namespace {
struct FuseRowProloguesPass
    : ark::impl::FuseRowProloguesPassBase<FuseRowProloguesPass> {
  using FuseRowProloguesPassBase::FuseRowProloguesPassBase;

  void runOnOperation() override {
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        for (Value rows : findRows(vctas))
          numRows += computeByWarps(rows, vctas, threads, *warpThreads);
  }
};
} // namespace
