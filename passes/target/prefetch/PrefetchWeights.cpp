//===- PrefetchWeights.cpp - L2 prefetch of weight tiles ------------------===//

#include "passes/target/prefetch/Passes.h"
#include "passes/target/prefetch/PrefetchLine.h"
#include "passes/target/prefetch/TileOfRows.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/tables/KernelTemplate.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PREFETCHWEIGHTSPASS
#include "passes/target/prefetch/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// A smaller tile arrives soon enough without a prefetch.
static constexpr int64_t kMinBytes = 64 * 1024;
/// Upper bound of the lines prefetched of one tile. Loads of activations would
/// queue behind more prefetches.
static constexpr int64_t kMaxLines = 256;

/// Prefetches lines of the tile at `address` into the L2: the first lines of
/// the tile's rows, which warps read first.
static void prefetchTile(ImplicitLocOpBuilder &builder, TileOfRows tile,
                         Value address, Value thread, int64_t threads) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  auto plus = [&](Value a, Value b, int64_t factor) -> Value {
    return arith::AddIOp::create(
        builder, a, arith::MulIOp::create(builder, b, constant(factor)));
  };
  int64_t linesPerRow =
      std::min(kMaxLines / tile.rows, tile.rowBytes / kLineBytes);
  int64_t lines = tile.rows * linesPerRow;
  for (int64_t first = 0; first < lines; first += threads) {
    OpBuilder::InsertionGuard guard(builder);
    Value own = arith::AddIOp::create(builder, thread, constant(first));
    if (first + threads > lines) {
      Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                            own, constant(lines));
      auto branch =
          scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    Value row = arith::DivUIOp::create(builder, own, constant(linesPerRow));
    Value inRow = arith::RemUIOp::create(builder, own, constant(linesPerRow));
    Value line = plus(address, row, tile.rowBytes);
    prefetchLine(builder, plus(line, inRow, tile.rowBytes / linesPerRow));
  }
}

/// Returns the tiles that threads load directly and that no other code
/// prefetches.
static SmallVector<TileOfRows> findTiles(scf::ForOp vctas) {
  SmallVector<TileOfRows> tiles;
  for (auto view : vctas.getBody()->getOps<memref::SubViewOp>()) {
    std::optional<TileOfRows> tile = TileOfRows::match(view);
    if (tile && isReadOnce(view) && tile->rows <= kMaxLines &&
        tile->rows * tile->rowBytes >= kMinBytes)
      tiles.push_back(*tile);
  }
  return tiles;
}

static void prefetchTiles(ImplicitLocOpBuilder &builder,
                          ArrayRef<TileOfRows> tiles, scf::ForOp vctas,
                          Value thread, int64_t threads) {
  for (const TileOfRows &tile : tiles)
    prefetchTile(builder, tile,
                 tile.getAddress(builder, vctas, vctas.getLowerBound()), thread,
                 threads);
}

/// Returns true if work items of the body poll for packets. Such a work item
/// begins before its activations arrive, and contains the prefetch itself.
static bool receivesPackets(func::FuncOp body) {
  return body.walk([](ReceivePacketsOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Creates a prefetch function for a body whose work items begin after their
/// activations have arrived.
static func::FuncOp createPrefetch(func::FuncOp body, int64_t threads) {
  func::FuncOp function = body.clone();
  function.setSymName(("prefetch_" + body.getSymName()).str());
  Block &block = function.getBody().front();
  scf::ForOp vctas = getVctaLoop(function);
  ImplicitLocOpBuilder builder(vctas.getLoc(), block.getTerminator());
  SmallVector<Operation *> others;
  for (Operation &op : block.without_terminator())
    others.push_back(&op);
  Value thread =
      gpu::ThreadIdOp::create(builder, gpu::Dimension::x).getResult();
  prefetchTiles(builder, findTiles(vctas), vctas, thread, threads);
  for (Operation *op : llvm::reverse(others))
    if (op->use_empty())
      op->erase();
  return function;
}

/// The prefetch functions by the names of their bodies.
using PrefetchFunctions = llvm::MapVector<StringRef, func::FuncOp>;

namespace {
struct PrefetchWeightsPass
    : ark::impl::PrefetchWeightsPassBase<PrefetchWeightsPass> {
  using PrefetchWeightsPassBase::PrefetchWeightsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto execute =
        SymbolTable(module).lookup<func::FuncOp>("ark_execute_work_item");
    PrefetchFunctions prefetches;
    for (func::FuncOp body : getBodies(module)) {
      scf::ForOp vctas = getVctaLoop(body);
      SmallVector<TileOfRows> tiles =
          vctas ? findTiles(vctas) : SmallVector<TileOfRows>();
      if (tiles.empty())
        continue;
      numPrefetched += tiles.size();
      if (execute && !receivesPackets(body)) {
        prefetches[body.getSymName()] = createPrefetch(body, threads);
        continue;
      }
      // The prefetch precedes all other ops of a work item, because it depends
      // only on the index of the first vCTA.
      auto builder =
          ImplicitLocOpBuilder::atBlockBegin(vctas.getLoc(), vctas->getBlock());
      Value thread = createMappedLoop(builder, threads);
      prefetchTiles(builder, tiles, vctas, thread, threads);
    }
    if (!prefetches.empty())
      prefetchDuringWaits(execute, prefetches);
  }

private:
  void prefetchDuringWaits(func::FuncOp execute,
                           const PrefetchFunctions &prefetches);
};
} // namespace

/// Turns a copy of the function that executes work items into
/// `ark_prefetch_work_item`, which calls the prefetch functions.
void PrefetchWeightsPass::prefetchDuringWaits(
    func::FuncOp execute, const PrefetchFunctions &prefetches) {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  func::FuncOp prefetchWorkItem = execute.clone();
  prefetchWorkItem.setSymName("ark_prefetch_work_item");
  if (Operation *declared = symbols.lookup("ark_prefetch_work_item"))
    symbols.erase(declared);
  symbols.insert(prefetchWorkItem);
  llvm::StringSet<> bodies;
  for (func::FuncOp body : getBodies(module))
    bodies.insert(body.getSymName());
  prefetchWorkItem.walk([&](func::CallOp call) {
    if (!bodies.contains(call.getCallee()))
      return;
    if (func::FuncOp function = prefetches.lookup(call.getCallee()))
      call.setCallee(function.getSymName());
    else
      call.erase();
  });
  for (const auto &entry : prefetches)
    symbols.insert(entry.second);
  KernelTemplate kernelTemplate(module);
  kernelTemplate.setCallee("ark_prefetch_ahead", "ark_prefetch_next_work_item");
  if (kernelTemplate.failed())
    signalPassFailure();
}
