//===- UseTensorCores.cpp - Matrix products by tensor cores ---------------===//

#include "passes/target/Aliasing.h"
#include "passes/target/Bodies.h"
#include "passes/target/IterationSpace.h"
#include "passes/target/Lowerings.h"
#include "passes/target/MmaLoops.h"
#include "passes/target/Passes.h"
#include "passes/target/SharedMemory.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_USETENSORCORESPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Of an SM's memory, what the kernel's tables may need.
static constexpr int64_t kReservedBytes = 65536;

//===----------------------------------------------------------------------===//
// Which products go together
//===----------------------------------------------------------------------===//

namespace {
/// Products of one left side, which the threads do at one place.
struct ProductGroup {
  SmallVector<TensorProduct> products;
  /// The op behind which all operands have their values; null at the beginning
  /// of the block.
  Operation *after;
};
} // namespace

/// The last op before a product that makes or writes one of its factors.
static Operation *getLastSource(const TensorProduct &product) {
  Operation *op = product.op;
  auto isSource = [&](Operation &other) {
    return llvm::any_of(
        ArrayRef<Value>{product.left, product.right}, [&](Value factor) {
          return factor.getDefiningOp() == &other ||
                 llvm::any_of(getAccesses(&other), [&](const Access &access) {
                   return conflict({factor, /*writes=*/false}, access);
                 });
        });
  };
  while ((op = op->getPrevNode()))
    if (isSource(*op))
      return op;
  return nullptr;
}

/// Whether `product` can be done together with those of a group, before all of
/// them are needed. Of large ones, warps have registers for the sums of two.
static bool fits(const TensorProduct &product, Operation *source,
                 const ProductGroup &group, int64_t threads) {
  const TensorProduct &first = group.products.front();
  bool isAlike = product.left == first.left && product.depth == first.depth &&
                 product.rows == first.rows &&
                 llvm::divideCeil(product.columns, kMmaColumns) ==
                     llvm::divideCeil(first.columns, kMmaColumns) &&
                 product.getElementType() == first.getElementType();
  if (!isAlike || (source && !source->isBeforeInBlock(first.op)))
    return false;
  return product.isSkinny() || (group.products.size() == 1 &&
                                MmaShape({first, product}, threads).fits());
}

static SmallVector<ProductGroup> findGroups(Block &block, int64_t threads) {
  SmallVector<ProductGroup> groups;
  for (auto op : block.getOps<linalg::LinalgOp>()) {
    std::optional<TensorProduct> product = TensorProduct::match(op);
    if (!product || !MmaShape(*product, threads).fits())
      continue;
    Operation *source = getLastSource(*product);
    auto *group = llvm::find_if(groups, [&](const ProductGroup &group) {
      return fits(*product, source, group, threads);
    });
    if (group == groups.end()) {
      groups.push_back({{*product}, source});
      continue;
    }
    group->products.push_back(*product);
    if (source && (!group->after || group->after->isBeforeInBlock(source)))
      group->after = source;
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// What takes their place
//===----------------------------------------------------------------------===//

/// The part of a buffer with the extents of a product, without the first
/// dimension if that is one.
static Value getView(ImplicitLocOpBuilder &builder,
                     const TensorProduct &product, Value parts) {
  auto type = cast<MemRefType>(parts.getType());
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(type.getDimSize(0))};
  for (int64_t dim : {0, 1})
    sizes.push_back(
        memref::getMixedSize(builder, builder.getLoc(), product.out, dim));
  SmallVector<OpFoldResult> zeros(3, builder.getIndexAttr(0)),
      ones(3, builder.getIndexAttr(1));
  if (type.getDimSize(0) != 1)
    return memref::SubViewOp::create(builder, parts, zeros, sizes, ones);
  auto outType = cast<MemRefType>(product.out.getType());
  MemRefType reduced = memref::SubViewOp::inferRankReducedResultType(
      outType.getShape(), type, zeros, sizes, ones);
  return memref::SubViewOp::create(builder, reduced, parts, zeros, sizes, ones);
}

/// out[m, n] += the sum of parts[p, m, n] over p.
static void addParts(const TensorProduct &product, Value parts) {
  linalg::LinalgOp op = product.op;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value view = getView(builder, product, parts);
  MLIRContext *context = builder.getContext();
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  SmallVector<AffineMap> maps(2, AffineMap::getMultiDimIdentityMap(2, context));
  if (cast<MemRefType>(view.getType()).getRank() == 3) {
    AffineMap all = AffineMap::getMultiDimIdentityMap(3, context);
    loops.push_back(utils::IteratorType::reduction);
    maps = {all.getSubMap({2, 0, 1}), all.getSubMap({0, 1})};
  }
  linalg::GenericOp::create(
      builder, view, product.out, maps, loops,
      [](OpBuilder &builder, Location loc, ValueRange arguments) {
        auto sum = arith::AddFOp::create(
            builder, loc, arguments[0], arguments[1],
            arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
        linalg::YieldOp::create(builder, loc, sum.getResult());
      });
  op->erase();
}

static void replace(const ProductGroup &group, Block &block, int64_t threads,
                    int64_t room) {
  SmallVector<Location> locations;
  for (const TensorProduct &product : group.products)
    locations.push_back(product.op->getLoc());
  ImplicitLocOpBuilder builder(
      FusedLoc::get(block.getParentOp()->getContext(), locations), &block,
      block.begin());
  if (group.after)
    builder.setInsertionPointAfter(group.after);
  SmallVector<Value> parts =
      createMmaLoops(builder, group.products, threads, room);
  for (auto [product, buffer] : llvm::zip(group.products, parts))
    addParts(product, buffer);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct UseTensorCoresPass
    : ark::impl::UseTensorCoresPassBase<UseTensorCoresPass> {
  using UseTensorCoresPassBase::UseTensorCoresPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    UseTensorCoresPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(body, *vctas.getBody());
  }

private:
  void run(func::FuncOp body, Block &block);
  int64_t getRoom(func::FuncOp body);
};
} // namespace

/// Bytes of shared memory that the temporaries of a body leave.
int64_t UseTensorCoresPass::getRoom(func::FuncOp body) {
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  int64_t room = target ? target.getSharedMemory() - kReservedBytes : 0;
  body.walk([&](memref::AllocaOp temporary) {
    room -=
        llvm::alignTo(getBufferBytes(temporary.getType()), kSharedAlignment);
  });
  return room;
}

/// Without memory for parts of their own, products are added to their results.
void UseTensorCoresPass::run(func::FuncOp body, Block &block) {
  int64_t room = getRoom(body);
  for (const ProductGroup &group : findGroups(block, threads)) {
    int64_t bytes = getMmaBytes(group.products, threads, room);
    numProducts += group.products.size();
    if (bytes <= room) {
      replace(group, block, threads, room);
      room -= bytes;
      continue;
    }
    for (const TensorProduct &product : group.products) {
      linalg::LinalgOp op = product.op;
      ImplicitLocOpBuilder builder(op.getLoc(), op);
      createDirectMmaLoops(builder, product, threads);
      op->erase();
    }
  }
}
