//===- StageKVCache.cpp - Keys and values in shared memory ----------------===//

#include "passes/target/attention/Passes.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/prefetch/KVCacheRows.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/weight_streaming/WeightStreams.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_STAGEKVCACHEPASS
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr StringLiteral kAwaitRows = "ark_await_rows";
/// Slots of a ring, and the bytes for tables and for the states of rings, that
/// `ark-stream-weights` uses at most in a kernel that polls.
static constexpr int64_t kSlots = 4, kTableBytes = 16384, kStateBytes = 12288;
/// Bytes of a partial result.
static constexpr int64_t kPartialBytes = 4;

namespace {
/// The keys or the values of an attention.
struct Rows {
  /// Returns nothing if the rows are not the first ones of a buffer of constant
  /// size, or if threads cannot load them 16 bytes at a time.
  static std::optional<Rows> match(OpOperand &operand);

  /// Finds the ops from `first` to the attention that write the buffer. Returns
  /// false if one of them is no copy of whole rows.
  bool findUpdates(Operation *first);
  bool isUpdate(linalg::GenericOp op) const;

  Value get() const { return operand->get(); }
  MemRefType getType() const { return cast<MemRefType>(get().getType()); }
  MemRefType getBufferType() const {
    return cast<MemRefType>(buffer.getType());
  }
  int64_t getDepth() const { return getType().getDimSize(1); }
  int64_t getMaxRows() const { return getBufferType().getDimSize(dim); }
  int64_t getStride() const {
    return getBufferType().getStridesAndOffset().first[dim];
  }
  /// Returns the number of elements of a load.
  int64_t getWidth() const {
    return kLoadBytes / getElementBytes(getType().getElementType());
  }
  /// Returns the type of the stage. Rows have a distance of one load more than
  /// their length, so that loads of neighbouring rows use different banks.
  MemRefType getStageType() const {
    return MemRefType::get({getMaxRows(), getDepth() + getWidth()},
                           getType().getElementType());
  }

  OpOperand *operand = nullptr;
  /// The buffer has one row of the depth for each index of dimension `dim`.
  Value buffer;
  int64_t dim = 0;
  SmallVector<linalg::GenericOp> updates;
};
} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Returns the only dimension before the last that has several indices.
static std::optional<int64_t> findRowDim(MemRefType type) {
  std::optional<int64_t> found;
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Returns true if the offsets of a subview are zero in all dimensions except
/// `dim`.
static bool hasZeroOffsets(memref::SubViewOp view,
                           std::optional<int64_t> dim = std::nullopt) {
  return view.hasUnitStride() &&
         llvm::all_of(llvm::enumerate(view.getMixedOffsets()),
                      [&](auto offset) {
                        return static_cast<int64_t>(offset.index()) == dim ||
                               isConstantIntValue(offset.value(), 0);
                      });
}

std::optional<Rows> Rows::match(OpOperand &operand) {
  Rows rows;
  rows.operand = &operand;
  rows.buffer = operand.get();
  if (!isRuntimeSized(rows.buffer) || rows.getDepth() % rows.getWidth() != 0 ||
      getRowAlignment(rows.buffer, rows.getWidth()) < kLoadBytes)
    return std::nullopt;
  while (!rows.getBufferType().hasStaticShape()) {
    auto view = rows.buffer.getDefiningOp<memref::SubViewOp>();
    if (!view || !hasZeroOffsets(view))
      return std::nullopt;
    rows.buffer = view.getSource();
  }
  std::optional<int64_t> dim = findRowDim(rows.getBufferType());
  if (!dim)
    return std::nullopt;
  rows.dim = *dim;
  auto [strides, offset] = rows.getType().getStridesAndOffset();
  return strides[0] == rows.getStride() ? std::optional(rows) : std::nullopt;
}

/// Returns true for an op that copies a matrix.
static bool isMatrixCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         op.getNumLoops() == 2 && op.getNumParallelLoops() == 2 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }) &&
         op.getBlock()->getTerminator()->getOperand(0) ==
             op.getRegionInputArgs()[0];
}

/// Returns true for an op that copies rows into the buffer.
bool Rows::isUpdate(linalg::GenericOp op) const {
  if (!op || !isMatrixCopy(op))
    return false;
  auto view = op.getDpsInits()[0].getDefiningOp<memref::SubViewOp>();
  return view && view.getSource() == buffer && hasZeroOffsets(view, dim) &&
         view.getType().getDimSize(1) == getDepth() &&
         !mayAlias(op.getDpsInputs()[0], buffer);
}

bool Rows::findUpdates(Operation *first) {
  Access read = {buffer, /*writes=*/false};
  for (Operation *op = first; op != operand->getOwner();
       op = op->getNextNode()) {
    if (llvm::none_of(getAccesses(op), [&](const Access &access) {
          return conflict(access, read);
        }))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!isUpdate(generic))
      return false;
    updates.push_back(generic);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Functions that all threads call
//===----------------------------------------------------------------------===//

/// Creates a function and moves the builder to its start.
static func::FuncOp createFunction(ImplicitLocOpBuilder &builder,
                                   StringRef name, TypeRange types,
                                   SymbolTable &symbols) {
  auto function = func::FuncOp::create(
      builder.getLoc(), name, builder.getFunctionType(types, TypeRange()));
  function.setPrivate();
  symbols.insert(function);
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return function;
}

/// Returns the function with which threads copy rows to a stage. Its arguments
/// are the address of the first row, the number of rows, and the stage.
static func::FuncOp getStager(const Rows &rows, int64_t threads,
                              SymbolTable &symbols) {
  MemRefType stage = rows.getStageType();
  std::string name;
  llvm::raw_string_ostream(name)
      << "ark_stage_" << stage.getElementType() << "_" << rows.getMaxRows()
      << "_" << rows.getDepth() << "_" << rows.getStride();
  if (auto function = symbols.lookup<func::FuncOp>(name))
    return function;
  ImplicitLocOpBuilder builder(rows.get().getLoc(), stage.getContext());
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(builder, value, index(factor));
  };
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto function = createFunction(
      builder, name, {pointer, builder.getIndexType(), stage}, symbols);
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  Value from =
      LLVM::AddrSpaceCastOp::create(builder, global, function.getArgument(0));
  Value to = createSpacePointer(builder, function.getArgument(2), kSharedSpace);
  Value thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  int64_t perRow = rows.getDepth() / rows.getWidth();
  int64_t bytes = kLoadBytes / rows.getWidth();
  Value count = times(function.getArgument(1), perRow);
  for (int64_t first = 0; first < rows.getMaxRows() * perRow;
       first += threads) {
    Value own = arith::AddIOp::create(builder, thread, index(first));
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, own, count);
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value row = arith::DivUIOp::create(builder, own, index(perRow));
    Value inRow =
        times(arith::RemUIOp::create(builder, own, index(perRow)), kLoadBytes);
    auto at = [&](Value base, int64_t stride) {
      return createOffset(
          builder, base,
          arith::AddIOp::create(builder, times(row, stride * bytes), inRow));
    };
    NVVM::CpAsyncOp::create(builder, at(to, stage.getDimSize(1)),
                            at(from, rows.getStride()), kLoadBytes,
                            NVVM::LoadCacheModifierKind::CG, Value());
  }
  NVVM::CpAsyncCommitGroupOp::create(builder);
  return function;
}

/// Returns the function with which threads wait for their copies to a stage.
static func::FuncOp getAwaiter(Location loc, SymbolTable &symbols) {
  if (auto function = symbols.lookup<func::FuncOp>(kAwaitRows))
    return function;
  ImplicitLocOpBuilder builder(loc, loc.getContext());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto function =
      createFunction(builder, kAwaitRows, {pointer, pointer}, symbols);
  NVVM::CpAsyncWaitGroupOp::create(builder, 0);
  return function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the address of the first element of a buffer.
static Value getPointer(ImplicitLocOpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t bytes = getElementBytes(type.getElementType());
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value begin = memref::ExtractAlignedPointerAsIndexOp::create(builder, buffer);
  Value distance =
      arith::MulIOp::create(builder, metadata.getOffset(),
                            arith::ConstantIndexOp::create(builder, bytes));
  Value address = arith::IndexCastOp::create(
      builder, builder.getI64Type(),
      arith::AddIOp::create(builder, begin, distance));
  return LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

/// Returns the view of `count` rows of a stage, from row `first` on.
static Value getStageRows(ImplicitLocOpBuilder &builder, Value stage,
                          OpFoldResult first, OpFoldResult count,
                          int64_t depth) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  return memref::SubViewOp::create(
      builder, stage, SmallVector<OpFoldResult>{first, zero},
      SmallVector<OpFoldResult>{count, builder.getIndexAttr(depth)},
      SmallVector<OpFoldResult>{one, one});
}

/// Lets the updates of rows write the stage, too.
static void updateStage(const Rows &rows, Value stage) {
  for (linalg::GenericOp update : rows.updates) {
    ImplicitLocOpBuilder builder(update.getLoc(), update->getContext());
    builder.setInsertionPointAfter(update);
    Value out = update.getDpsInits()[0];
    auto view = out.getDefiningOp<memref::SubViewOp>();
    OpFoldResult count =
        memref::getMixedSize(builder, builder.getLoc(), out, 0);
    Value staged =
        getStageRows(builder, stage, view.getMixedOffsets()[rows.dim], count,
                     rows.getDepth());
    auto copy = cast<linalg::GenericOp>(builder.clone(*update));
    copy.getDpsInitsMutable()[0].set(staged);
  }
}

/// Copies rows to stages before `receive`, and lets the attention read these.
static void stage(MutableArrayRef<Rows> all, ReceivePacketsOp receive,
                  int64_t threads, SymbolTable &symbols) {
  Operation *attention = all.front().operand->getOwner();
  Operation *wait = attention;
  ImplicitLocOpBuilder builder(attention->getLoc(), receive);
  SmallVector<Value> stages;
  for (const Rows &rows : all) {
    builder.setInsertionPoint(receive);
    Value memory =
        createTemporary(builder, rows.getStageType(), kSharedAlignment);
    OpFoldResult count =
        memref::getMixedSize(builder, builder.getLoc(), rows.get(), 0);
    Value number =
        getValueOrCreateConstantIndexOp(builder, builder.getLoc(), count);
    auto call = func::CallOp::create(
        builder, getStager(rows, threads, symbols),
        ValueRange{getPointer(builder, rows.get()), number, memory});
    setCtaCollective(call, /*numWritten=*/1);
    updateStage(rows, memory);
    for (linalg::GenericOp update : rows.updates)
      if (update->isBeforeInBlock(wait))
        wait = update;
    builder.setInsertionPoint(attention);
    rows.operand->set(getStageRows(builder, memory, builder.getIndexAttr(0),
                                   count, rows.getDepth()));
    stages.push_back(memory);
  }
  // Updates replace what the copies have brought.
  builder.setInsertionPoint(wait);
  SmallVector<Value> pointers = llvm::map_to_vector(
      stages, [&](Value memory) { return getPointer(builder, memory); });
  auto call = func::CallOp::create(
      builder, getAwaiter(attention->getLoc(), symbols), pointers);
  // Each thread waits for its own copies. The call counts as a write, so that a
  // barrier separates it from the ops that read the copies of other threads.
  setCtaCollective(call, /*numWritten=*/pointers.size());
}

namespace {
struct StageKVCachePass : ark::impl::StageKVCachePassBase<StageKVCachePass> {
  using StageKVCachePassBase::StageKVCachePassBase;

  void runOnOperation() override {
    auto target =
        getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    if (!target || !target.hasCopy(CopyKind::Bulk))
      return;
    room = getRoomBesideRings(target);
    if (room <= 0)
      return;
    SymbolTable symbols(getOperation());
    for (func::FuncOp body : getBodies(getOperation()))
      run(body, target, symbols);
  }

private:
  int64_t getRoomBesideRings(TargetAttr target);
  void run(func::FuncOp body, TargetAttr target, SymbolTable &symbols);

  /// Bytes of shared memory beside weight rings and tables.
  int64_t room = 0;
};
} // namespace

/// Returns the bytes of shared memory beside weight rings and tables, or zero
/// if no weights pass through rings. Threads then load weights through the L1,
/// which would be smaller with stages.
int64_t StageKVCachePass::getRoomBesideRings(TargetAttr target) {
  int64_t chunk = 0;
  for (auto kernel : getOperation().getOps<KernelOp>())
    for (func::FuncOp body : getBodies(getOperation()))
      for (const WeightStream &stream : findWeightStreams(kernel, body))
        chunk = std::max<int64_t>(
            chunk, llvm::alignTo(stream.chunkBytes, kSharedAlignment));
  if (chunk == 0)
    return 0;
  return target.getSharedMemory() - kTableBytes - kStateBytes -
         kSlots * kStreamWarps * chunk;
}

/// Returns the bytes of shared memory that a body takes without stages: its
/// temporaries, and the partial results of the warps of its attention.
static int64_t getBytes(func::FuncOp body, OnlineAttentionOp attention,
                        TargetAttr target) {
  int64_t bytes = 0;
  body.walk([&](memref::AllocaOp temporary) {
    bytes += llvm::alignTo(getSharedBytes(temporary), kSharedAlignment);
  });
  int64_t rows =
      cast<MemRefType>(attention.getMaximum().getType()).getNumElements();
  int64_t depth = cast<MemRefType>(attention.getKey().getType()).getDimSize(1);
  return bytes + target.getWarps() * rows * (depth + 2) * kPartialBytes;
}

/// Returns the keys and values of an attention that can be staged, or nothing.
static SmallVector<Rows> findRows(OnlineAttentionOp attention,
                                  ReceivePacketsOp receive) {
  SmallVector<Rows> all;
  for (OpOperand *operand :
       {&attention.getKeyMutable(), &attention.getValueMutable()}) {
    std::optional<Rows> rows = Rows::match(*operand);
    if (!rows || !rows->findUpdates(receive) ||
        !moveBefore(rows->get(), receive))
      return {};
    all.push_back(std::move(*rows));
  }
  return all;
}

void StageKVCachePass::run(func::FuncOp body, TargetAttr target,
                           SymbolTable &symbols) {
  scf::ForOp vctas = getVctaLoop(body);
  if (!vctas)
    return;
  auto receives = vctas.getBody()->getOps<ReceivePacketsOp>();
  auto attentions = vctas.getBody()->getOps<OnlineAttentionOp>();
  if (receives.empty() || !llvm::hasSingleElement(attentions))
    return;
  ReceivePacketsOp receive = *receives.begin();
  OnlineAttentionOp attention = *attentions.begin();
  if (!receive->isBeforeInBlock(attention))
    return;
  SmallVector<Rows> all = findRows(attention, receive);
  if (all.empty())
    return;
  int64_t bytes = 0;
  for (const Rows &rows : all)
    bytes +=
        llvm::alignTo(getBufferBytes(rows.getStageType()), kSharedAlignment);
  if (bytes > maxBytes || bytes + getBytes(body, attention, target) > room)
    return;
  stage(all, receive, threads, symbols);
  ++numStaged;
}
