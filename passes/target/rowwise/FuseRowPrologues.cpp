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

/// Upper bound of a thread's loads of one row: more would exceed its registers.
static constexpr int64_t kMaxLoads = 16;
/// Bytes after which the banks of shared memory repeat.
static constexpr int64_t kBankBytes = 128;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns true if a thread has fewer elements in `a` than in `b`, or equally
/// many in wider loads.
static bool isBetter(const RowShares &a, const RowShares &b) {
  return std::tuple(a.getElements(), a.loads) <
         std::tuple(b.getElements(), b.loads);
}

/// Returns the division of a buffer's rows among `warps` warps of `warpSize`
/// threads with the fewest elements for each thread, or nothing if the rows
/// cannot be divided equally.
static std::optional<RowShares> getShares(MemRefType type, int64_t warps,
                                          int64_t warpSize) {
  int64_t count = type.getDimSize(0), size = type.getDimSize(1);
  int64_t widest = kLoadBytes / getElementBytes(type.getElementType());
  if (count == 0 || count > warps)
    return std::nullopt;
  // The threads of one warp combine the values of all warps of a row.
  int64_t mostWarps = std::min(warps / count, warpSize);
  std::optional<RowShares> best;
  for (int64_t warpsPerRow = 1; warpsPerRow <= mostWarps; ++warpsPerRow)
    for (int64_t width : {widest, widest / 2}) {
      RowShares shares{warpSize, warpsPerRow, /*loads=*/0, width};
      int64_t elements = warpsPerRow * shares.getStep();
      shares.loads = elements > 0 ? size / elements : 0;
      if (shares.loads == 0 || shares.loads > kMaxLoads || size % elements != 0)
        continue;
      if (!best || isBetter(shares, *best))
        best = shares;
    }
  return best;
}

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

/// Builds the code of a thread. Warps without a row recompute the share of
/// the last warp without storing it, so that all warps reach the barriers.
static void buildThread(ImplicitLocOpBuilder &builder, Value thread,
                        int64_t warps, Value rows, const RowPrologue &prologue,
                        const RowShares &shares) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  int64_t busy =
      cast<MemRefType>(rows.getType()).getDimSize(0) * shares.warpsPerRow;
  ThreadIndices indices;
  indices.warp =
      arith::DivUIOp::create(builder, thread, constant(shares.warpSize));
  indices.inWarp =
      arith::RemUIOp::create(builder, thread, constant(shares.warpSize));
  Value owner = indices.warp;
  if (busy < warps)
    owner = arith::MinUIOp::create(builder, owner, constant(busy - 1));
  Value warpsPerRow = constant(shares.warpsPerRow);
  indices.row = arith::DivUIOp::create(builder, owner, warpsPerRow);
  indices.warpOfRow = arith::RemUIOp::create(builder, owner, warpsPerRow);
  SmallVector<Value> vectors = prologue.build(builder, indices, warps);
  if (busy < warps) {
    Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                          indices.warp, constant(busy));
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  Value first = shares.getFirst(builder, indices.warpOfRow, indices.inWarp);
  int64_t bytes = shares.width *
                  cast<MemRefType>(rows.getType()).getElementTypeBitWidth() / 8;
  for (auto [load, vector] : llvm::enumerate(vectors)) {
    Value element = arith::AddIOp::create(
        builder, first,
        constant(static_cast<int64_t>(load) * shares.getStep()));
    vector::StoreOp::create(builder, vector, rows,
                            ValueRange{indices.row, element},
                            /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  }
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
  std::optional<RowShares> shares = getShares(type, warps, warpSize);
  if (!shares)
    return 0;
  SmallVector<Operation *> readers = getReaders(rows, vctas);
  RowPrologue prologue(rows, readers, vctas, *shares);
  if (!prologue.isComputed())
    return 0;
  ImplicitLocOpBuilder builder(vctas.getLoc(), vctas);
  Value thread = createMappedLoop(builder, threads);
  buildThread(builder, thread, warps, rows, prologue, *shares);
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
