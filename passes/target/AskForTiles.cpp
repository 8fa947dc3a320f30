//===- AskForTiles.cpp - Weights, before they are needed ------------------===//

#include "passes/target/AskForLine.h"
#include "passes/target/Bodies.h"
#include "passes/target/Lowerings.h"
#include "passes/target/MappedLoop.h"
#include "passes/target/Passes.h"
#include "passes/target/TileOfRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {
#define GEN_PASS_DEF_ASKFORTILESPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Smaller tiles come soon enough.
static constexpr int64_t kLeastBytes = 64 * 1024;
/// What is asked for of one tile. Activations would queue behind more.
static constexpr int64_t kMostLines = 512;

/// Asks the L2 for lines of a tile that begins at `address`, from all over its
/// rows, where warps begin to read.
static void askForTile(ImplicitLocOpBuilder &builder, TileOfRows tile,
                       Value address, Value thread, int64_t threads) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  auto plus = [&](Value a, Value b, int64_t factor) -> Value {
    return arith::AddIOp::create(
        builder, a, arith::MulIOp::create(builder, b, constant(factor)));
  };
  int64_t places = std::min(kMostLines / tile.rows, tile.rowBytes / kLineBytes);
  int64_t lines = tile.rows * places;
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
    Value row = arith::DivUIOp::create(builder, own, constant(places));
    Value place = arith::RemUIOp::create(builder, own, constant(places));
    Value line = plus(address, row, tile.rowBytes);
    askForLine(builder, plus(line, place, tile.rowBytes / places));
  }
}

/// Those whose products threads make by themselves: nobody else asks for them
/// early.
static SmallVector<TileOfRows> findTiles(scf::ForOp vctas) {
  SmallVector<TileOfRows> tiles;
  for (auto view : vctas.getBody()->getOps<memref::SubViewOp>()) {
    std::optional<TileOfRows> tile = TileOfRows::match(view);
    bool isLoaded = llvm::none_of(view->getUsers(), [](Operation *user) {
      return isa<linalg::LinalgOp, ViewLikeOpInterface>(user) &&
             !isa<memref::ExtractStridedMetadataOp,
                  memref::ExtractAlignedPointerAsIndexOp>(user);
    });
    if (tile && isLoaded && tile->rows <= kMostLines &&
        tile->rows * tile->rowBytes >= kLeastBytes)
      tiles.push_back(*tile);
  }
  return tiles;
}

namespace {
struct AskForTilesPass : ark::impl::AskForTilesPassBase<AskForTilesPass> {
  using AskForTilesPassBase::AskForTilesPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(vctas);
  }

private:
  void run(scf::ForOp vctas);
};
} // namespace

/// Before all else that a run does: its number is all that one has to know.
void AskForTilesPass::run(scf::ForOp vctas) {
  SmallVector<TileOfRows> tiles = findTiles(vctas);
  if (tiles.empty())
    return;
  auto builder =
      ImplicitLocOpBuilder::atBlockBegin(vctas.getLoc(), vctas->getBlock());
  Value thread = createMappedLoop(builder, threads);
  for (const TileOfRows &tile : tiles)
    askForTile(builder, tile,
               tile.getAddress(builder, vctas, vctas.getLowerBound()), thread,
               threads);
  numAsked += tiles.size();
}
