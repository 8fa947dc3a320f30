//===- CacheTables.cpp - Caches kernel tables in shared memory ------------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/module/Passes.h"
#include "passes/target/tables/CachedTables.h"
#include "passes/target/tables/KernelTemplate.h"

#include "dialects/ark/ArkOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {
#define GEN_PASS_DEF_CACHETABLESPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Copies the context and tables to shared memory when a CTA starts, and makes
/// the kernel read the copies.
class TableCache {
public:
  TableCache(func::FuncOp dispatchLoop, KernelOp kernel, int64_t threads)
      : dispatchLoop(dispatchLoop), kernel(kernel), threads(threads),
        builder(dispatchLoop.getLoc(), dispatchLoop.getContext()) {
    builder.setInsertionPointToStart(&dispatchLoop.getBody().front());
    pointer = LLVM::LLVMPointerType::get(builder.getContext());
  }

  /// Allocates shared memory between `begin` and `end`. Returns the end of the
  /// allocation.
  int64_t cache(LLVM::GlobalOp memory, int64_t begin, int64_t end);

private:
  Value getShared(int64_t offset);
  Value at(Value base, LLVM::GEPArg index, Type element);
  void forEach(Value count, function_ref<void(Value)> build);
  void copy(Value from, Value to, Value words);
  Value loadTable(abi::ContextField field);
  void cacheInstructions(int64_t offset);
  void cacheOperands(int64_t count, int64_t offset);
  void readShared(func::FuncOp function, int64_t offset);
  bool cacheTable(const KernelTable &table, int64_t offset);

  func::FuncOp dispatchLoop;
  KernelOp kernel;
  int64_t threads;
  ImplicitLocOpBuilder builder;
  Type pointer;
  LLVM::GlobalOp memory;
  Value context, cached, thread;
};
} // namespace

Value TableCache::getShared(int64_t offset) {
  return getSharedPointer(builder, builder.getLoc(), memory, offset);
}

Value TableCache::at(Value base, LLVM::GEPArg index, Type element) {
  return LLVM::GEPOp::create(builder, pointer, element, base, index);
}

/// Builds a loop over `count` indices, which all threads share.
void TableCache::forEach(Value count, function_ref<void(Value)> build) {
  Value step = arith::ConstantIndexOp::create(builder, threads);
  auto loop = scf::ForOp::create(builder, thread, count, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  build(arith::IndexCastOp::create(builder, builder.getI64Type(),
                                   loop.getInductionVar()));
}

void TableCache::copy(Value from, Value to, Value words) {
  Type i64 = builder.getI64Type();
  forEach(words, [&](Value index) {
    Value word = LLVM::LoadOp::create(builder, i64, at(from, index, i64));
    LLVM::StoreOp::create(builder, word, at(to, index, i64));
  });
}

Value TableCache::loadTable(abi::ContextField field) {
  Value address =
      at(context, static_cast<int32_t>(field), builder.getI64Type());
  return LLVM::LoadOp::create(builder, pointer, address);
}

/// Copies the instructions of this lane so that they end at `end`, like the
/// instructions of the longest lane.
void TableCache::cacheInstructions(int64_t end) {
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  Value fields = arith::ConstantIntOp::create(builder, abi::kLaneFields, 64);
  Value lane =
      arith::MulIOp::create(builder, dispatchLoop.getArgument(1), fields);
  Value entry = at(loadTable(abi::kLanes), lane, i32);
  auto load = [&](int32_t field) -> Value {
    Value value = LLVM::LoadOp::create(builder, i32, at(entry, field, i32));
    return arith::ExtSIOp::create(builder, i64, value);
  };
  Value first = load(abi::kLaneBegin), last = load(abi::kLaneEnd);
  Value size = arith::ConstantIntOp::create(builder, kInstructionWords, 64);
  Value count = arith::SubIOp::create(builder, last, first);
  Value words = arith::MulIOp::create(builder, count, size);
  Value before = arith::SubIOp::create(
      builder, arith::ConstantIntOp::create(builder, 0, 64), words);
  Value skipped = arith::MulIOp::create(builder, first, size);
  copy(at(loadTable(abi::kInstructions), skipped, i64),
       at(getShared(end), before, i64),
       arith::IndexCastOp::create(builder, builder.getIndexType(), words));
}

/// Stores the addresses of operands, which are constant during a launch.
void TableCache::cacheOperands(int64_t count, int64_t offset) {
  Type i64 = builder.getI64Type();
  Value buffers = loadTable(abi::kBuffers);
  Value operands = loadTable(abi::kOperands);
  Value to = getShared(offset);
  forEach(arith::ConstantIndexOp::create(builder, count), [&](Value index) {
    Value size = arith::ConstantIntOp::create(builder, kOperandWords, 64);
    Value entry =
        at(operands, Value(arith::MulIOp::create(builder, index, size)), i64);
    Value slot = LLVM::LoadOp::create(builder, i64, entry);
    Value distance = LLVM::LoadOp::create(
        builder, i64,
        at(entry, static_cast<int32_t>(abi::kOperandOffset), i64));
    Value buffer =
        LLVM::LoadOp::create(builder, pointer, at(buffers, slot, i64));
    Value address = at(buffer, distance, builder.getI8Type());
    LLVM::StoreOp::create(builder, address, at(to, index, i64));
  });
}

/// Builds the function that reads entries of a table: it loads an entry from
/// shared memory at `offset`. The last argument is the index. A function
/// with three arguments counts entries back from the end of the table, which is
/// then `offset`.
void TableCache::readShared(func::FuncOp function, int64_t offset) {
  Location loc = function.getLoc();
  function.eraseBody();
  OpBuilder inner = OpBuilder::atBlockBegin(function.addEntryBlock());
  Value index = function.getArguments().back();
  if (function.getNumArguments() > 2)
    index = arith::SubIOp::create(
        inner, loc, arith::ConstantIntOp::create(inner, loc, 0, 64), index);
  Type type = function.getResultTypes().front();
  Value entry = LLVM::GEPOp::create(
      inner, loc, pointer, type, getSharedPointer(inner, loc, memory, offset),
      ArrayRef<LLVM::GEPArg>{index});
  Value fields = LLVM::LoadOp::create(inner, loc, type, entry);
  func::ReturnOp::create(inner, loc, fields);
}

/// Caches a table if the kernel reads it. Returns true if it was cached.
bool TableCache::cacheTable(const KernelTable &table, int64_t offset) {
  auto function = SymbolTable(dispatchLoop->getParentOfType<ModuleOp>())
                      .lookup<func::FuncOp>(table.reader);
  if (!function)
    return false;
  if (table.field == abi::kInstructions) {
    // Entries are counted from the end of the table.
    offset += table.words * kWordBytes;
    cacheInstructions(offset);
  } else if (table.field == abi::kOperands) {
    cacheOperands(table.words, offset);
  } else {
    copy(loadTable(table.field), getShared(offset),
         arith::ConstantIndexOp::create(builder, table.words));
  }
  readShared(function, offset);
  return true;
}

int64_t TableCache::cache(LLVM::GlobalOp memory, int64_t begin, int64_t end) {
  this->memory = memory;
  int64_t contextWords = getNumContextWords(kernel);
  int64_t contextBytes = contextWords * kWordBytes;
  if (begin + contextBytes > end)
    return begin;
  context = dispatchLoop.getArgument(0);
  SmallVector<OpOperand *> uses = llvm::to_vector(
      llvm::map_range(context.getUses(), [](OpOperand &use) { return &use; }));
  cached = getShared(begin);
  thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  copy(context, cached, arith::ConstantIndexOp::create(builder, contextWords));
  gpu::BarrierOp::create(builder);
  int64_t offset = begin + contextBytes;
  for (const KernelTable &table : getTables(kernel)) {
    int64_t next =
        llvm::alignTo(offset, kSharedAlignment) + table.words * kWordBytes;
    if (next > end)
      continue;
    if (cacheTable(table, llvm::alignTo(offset, kSharedAlignment)))
      offset = next;
  }
  gpu::BarrierOp::create(builder);
  for (OpOperand *use : uses)
    use->set(cached);
  return offset;
}

namespace {
struct CacheTablesPass : ark::impl::CacheTablesPassBase<CacheTablesPass> {
  using CacheTablesPassBase::CacheTablesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    for (auto kernel : module.getOps<KernelOp>()) {
      auto dispatchLoop =
          SymbolTable(module).lookup<func::FuncOp>(kernel.getEntry());
      if (!target || !dispatchLoop || dispatchLoop.isExternal())
        continue;
      int64_t begin = llvm::alignTo(getSharedBytes(kernel), kSharedAlignment);
      int64_t end = std::min(target.getSharedMemory() - kDispatchStateBytes,
                             begin + maxBytes);
      TableCache cache(dispatchLoop, kernel, threads);
      LLVM::GlobalOp memory = getSharedMemory(module);
      int64_t next = cache.cache(memory, begin, end);
      if (KernelTemplate kernelTemplate(module);
          kernelTemplate.has("ark_dispatch_state")) {
        next = llvm::alignTo(next, kDispatchStateBytes);
        kernelTemplate.defineAddress("ark_dispatch_state", memory, next);
        if (kernelTemplate.failed())
          return signalPassFailure();
        next += kDispatchStateBytes;
      }
      setSharedBytes(kernel, next);
    }
  }
};
} // namespace
