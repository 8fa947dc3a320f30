//===- CacheTables.cpp - The kernel's tables in shared memory -------------===//

#include "passes/target/KernelTables.h"
#include "passes/target/Passes.h"
#include "passes/target/SharedMemory.h"

#include "dialects/ark/ArkOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {
#define GEN_PASS_DEF_CACHETABLESPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Copies context and tables when a CTA starts, and makes the kernel use those.
class TableCache {
public:
  TableCache(func::FuncOp walk, KernelOp kernel, int64_t threads)
      : walk(walk), kernel(kernel), threads(threads),
        builder(walk.getLoc(), walk.getContext()) {
    builder.setInsertionPointToStart(&walk.getBody().front());
    pointer = LLVM::LLVMPointerType::get(builder.getContext());
  }

  /// Takes shared memory from `begin` to `end` at most; gives where it ends.
  int64_t cache(LLVM::GlobalOp memory, int64_t begin, int64_t end);

private:
  Value getShared(int64_t offset);
  Value at(Value base, Value index, Type element);
  Value at(Value base, int32_t index, Type element);
  void copy(Value from, Value to, Value words);
  void cacheTable(const KernelTable &table, int64_t offset);
  void cacheInstructions(int64_t offset);

  func::FuncOp walk;
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

Value TableCache::at(Value base, Value index, Type element) {
  return LLVM::GEPOp::create(builder, pointer, element, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value TableCache::at(Value base, int32_t index, Type element) {
  return LLVM::GEPOp::create(builder, pointer, element, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// By all threads, a word each.
void TableCache::copy(Value from, Value to, Value words) {
  Value step = arith::ConstantIndexOp::create(builder, threads);
  auto loop = scf::ForOp::create(builder, thread, words, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Type i64 = builder.getI64Type();
  Value index =
      arith::IndexCastOp::create(builder, i64, loop.getInductionVar());
  Value word = LLVM::LoadOp::create(builder, i64, at(from, index, i64));
  LLVM::StoreOp::create(builder, word, at(to, index, i64));
}

void TableCache::cacheTable(const KernelTable &table, int64_t offset) {
  Type i64 = builder.getI64Type();
  Value from =
      LLVM::LoadOp::create(builder, pointer, at(context, table.field, i64));
  Value to = getShared(offset);
  copy(from, to, arith::ConstantIndexOp::create(builder, table.words));
  LLVM::StoreOp::create(builder, to, at(cached, table.field, i64));
}

/// Of its own lane only; the kernel counts instructions from the first lane's.
void TableCache::cacheInstructions(int64_t offset) {
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  Value three = arith::ConstantIntOp::create(builder, 3, 64);
  Value lane = arith::MulIOp::create(builder, walk.getArgument(1), three);
  Value lanes =
      LLVM::LoadOp::create(builder, pointer, at(context, abi::kLanes, i64));
  Value row = at(lanes, lane, i32);
  auto load = [&](int32_t field) -> Value {
    Value value = LLVM::LoadOp::create(builder, i32, at(row, field, i32));
    return arith::ExtSIOp::create(builder, i64, value);
  };
  Value first = load(1), last = load(2);
  Value size = arith::ConstantIntOp::create(builder, kInstructionWords, 64);
  Value count = arith::SubIOp::create(builder, last, first);
  Value words =
      arith::IndexCastOp::create(builder, builder.getIndexType(),
                                 arith::MulIOp::create(builder, count, size));
  Value skipped = arith::MulIOp::create(builder, first, size);
  Value all = LLVM::LoadOp::create(builder, pointer,
                                   at(context, abi::kInstructions, i64));
  Value to = getShared(offset);
  copy(at(all, skipped, i64), to, words);
  Value zero = arith::ConstantIntOp::create(builder, 0, 64);
  Value back = arith::SubIOp::create(builder, zero, skipped);
  LLVM::StoreOp::create(builder, at(to, back, i64),
                        at(cached, abi::kInstructions, i64));
}

int64_t TableCache::cache(LLVM::GlobalOp memory, int64_t begin, int64_t end) {
  this->memory = memory;
  int64_t contextBytes = abi::kContextWords * kWordBytes;
  if (begin + contextBytes > end)
    return begin;
  context = walk.getArgument(0);
  SmallVector<OpOperand *> uses = llvm::to_vector(
      llvm::map_range(context.getUses(), [](OpOperand &use) { return &use; }));
  cached = getShared(begin);
  thread = gpu::ThreadIdOp::create(builder, gpu::Dimension::x);
  copy(context, cached,
       arith::ConstantIndexOp::create(builder, abi::kContextWords));
  gpu::BarrierOp::create(builder);
  int64_t offset = begin + contextBytes;
  for (const KernelTable &table : getTables(kernel)) {
    int64_t next =
        llvm::alignTo(offset, kSharedAlignment) + table.words * kWordBytes;
    if (next > end)
      continue;
    offset = llvm::alignTo(offset, kSharedAlignment);
    if (table.field == abi::kInstructions)
      cacheInstructions(offset);
    else
      cacheTable(table, offset);
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
      auto walk = SymbolTable(module).lookup<func::FuncOp>(kernel.getEntry());
      if (!target || !walk || walk.isExternal())
        continue;
      int64_t begin = llvm::alignTo(getSharedBytes(kernel), kSharedAlignment);
      int64_t end = std::min(target.getSharedMemory(), begin + maxBytes);
      TableCache cache(walk, kernel, threads);
      setSharedBytes(kernel, cache.cache(getSharedMemory(module), begin, end));
    }
  }
};
} // namespace
