//===- UseTensorCores.cpp - Matrix products with tensor cores -------------===//

#include "lib/support/DimIndices.h"
#include "passes/target/matmul/MmaLoops.h"
#include "passes/target/matmul/Passes.h"
#include "passes/target/matmul/ProductGroups.h"
#include "passes/target/matmul/ProductLifetime.h"
#include "passes/target/matmul/ResultConversions.h"
#include "passes/target/matmul/RoundedResults.h"
#include "passes/target/matmul/StoredLoops.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/tables/CachedTables.h"
#include "passes/target/tensor_maps/TensorMaps.h"
#include "passes/target/warpgroups/WarpgroupLoops.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_USETENSORCORESPASS
#include "passes/target/matmul/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the tasks: their map indices fill half of the constant
/// memory.
static constexpr size_t kMaxTasksWithMaps = 8192;

//===----------------------------------------------------------------------===//
// Replacement of products
//===----------------------------------------------------------------------===//

/// Returns the view of a buffer of partial sums that has the extents of a
/// product. Drops the first dimension if its extent is one.
static Value getView(ImplicitLocOpBuilder &builder, const MatmulTile &product,
                     Value partialSums) {
  auto type = cast<MemRefType>(partialSums.getType());
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(type.getDimSize(0))};
  for (int64_t dim : {0, 1})
    sizes.push_back(
        memref::getMixedSize(builder, builder.getLoc(), product.out, dim));
  SmallVector<OpFoldResult> zeros(3, builder.getIndexAttr(0)),
      ones(3, builder.getIndexAttr(1));
  if (type.getDimSize(0) != 1)
    return memref::SubViewOp::create(builder, partialSums, zeros, sizes, ones);
  auto outType = cast<MemRefType>(product.out.getType());
  MemRefType reduced = memref::SubViewOp::inferRankReducedResultType(
      outType.getShape(), type, zeros, sizes, ones);
  return memref::SubViewOp::create(builder, reduced, partialSums, zeros, sizes,
                                   ones);
}

/// Adds the sum of partialSums[p, m, n] over p, or partialSums[m, n], to out[m,
/// n].
static void addPartialSums(const MatmulTile &product, Value partialSums) {
  linalg::LinalgOp op = product.op;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value view = partialSums;
  if (cast<MemRefType>(partialSums.getType()).getRank() == 3)
    view = getView(builder, product, partialSums);
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
        linalg::YieldOp::create(builder, loc,
                                createSum(builder, loc, arguments[0],
                                          arguments[1],
                                          arith::FastMathFlags::reassoc |
                                              arith::FastMathFlags::contract));
      });
  op->erase();
}

/// Returns a builder at the first point at which all operands of a group have
/// their values.
static ImplicitLocOpBuilder getBuilder(const ProductGroup &group,
                                       Block &block) {
  SmallVector<Location> locations;
  for (const MatmulTile &product : group.products)
    locations.push_back(product.op->getLoc());
  ImplicitLocOpBuilder builder(
      FusedLoc::get(block.getParentOp()->getContext(), locations), &block,
      block.begin());
  if (group.after)
    builder.setInsertionPointAfter(group.after);
  return builder;
}

/// Replaces the product's temporary by its accumulators in all readers.
static void replace(const MatmulTile &product, const Lifetime &lifetime,
                    Value accumulators) {
  memref::AllocaOp temporary = lifetime.temporary;
  for (Operation *user : lifetime.users) {
    user->replaceUsesOfWith(lifetime.buffer, accumulators);
    if (getElementTypeOrSelf(accumulators) !=
        temporary.getType().getElementType())
      removeRoundings(user, accumulators);
  }
  linalg::LinalgOp(lifetime.fill).erase();
  linalg::LinalgOp(product.op).erase();
  if (!lifetime.buffer.use_empty())
    return;
  if (lifetime.buffer != temporary)
    lifetime.buffer.getDefiningOp()->erase();
  temporary->erase();
}

/// Returns true if the accumulators of every product of a group replace its
/// temporary: K is not split, so that the accumulators are the result.
static bool haveAccumulatorsOnly(const ProductGroup &group, int64_t threads) {
  return MmaShape(group.products, threads).parts == 1 &&
         llvm::all_of(group.products, [](const MatmulTile &product) {
           return findLifetime(product).has_value();
         });
}

/// Returns the bytes of temporaries that the accumulators of warps replace.
static int64_t getReplacedBytes(const ProductGroup &group, int64_t threads) {
  return haveAccumulatorsOnly(group, threads) ? getReplacedBytes(group.products)
                                              : 0;
}

static void replace(const ProductGroup &group, Block &block, int64_t threads,
                    int64_t room) {
  bool hasAccumulatorsOnly = haveAccumulatorsOnly(group, threads);
  ImplicitLocOpBuilder builder = getBuilder(group, block);
  SmallVector<Value> partialSums =
      createMmaLoops(builder, group.products, threads, room);
  for (auto [product, buffer] : llvm::zip(group.products, partialSums)) {
    if (!hasAccumulatorsOnly) {
      addPartialSums(product, buffer);
      continue;
    }
    // The op before which `builder` inserts may be erased with a product.
    linalg::LinalgOp op = product.op;
    ImplicitLocOpBuilder atProduct(op.getLoc(), op);
    replace(product, *findLifetime(product),
            getView(atProduct, product, buffer));
  }
}

/// Adds products directly to their results, for partial sums that do not fit
/// into memory.
static void replaceDirectly(const ProductGroup &group, int64_t threads) {
  for (const MatmulTile &product : group.products) {
    linalg::LinalgOp op = product.op;
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    createDirectMmaLoops(builder, product, threads);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Stages that threads store
//===----------------------------------------------------------------------===//

static TargetAttr getTarget(ModuleOp module) {
  return module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
}

/// Replaces a product and its epilogue by loops with stages that threads store,
/// if the loops fit into `room` bytes of shared memory. Without an epilogue,
/// the product is added to its result in memory. Stages that copies fill also
/// take the `spare` bytes of the reserve for tables. Updates `room`.
static bool replaceStored(const MatmulTile &product,
                          ArrayRef<MmaAttr> instructions, int64_t threads,
                          int64_t &room, int64_t spare) {
  linalg::LinalgOp op = product.op;
  std::optional<ProductEpilogue> epilogue = ProductEpilogue::match(product);
  int64_t replaced = epilogue ? epilogue->getReplacedBytes() : 0;
  int64_t most = room + replaced;
  bool canCopy =
      getTarget(op->getParentOfType<ModuleOp>()).hasCopy(CopyKind::LoadLds);
  auto shape = StoredShape::choose(product, instructions, threads, most,
                                   canCopy ? most + spare : 0);
  if (!shape)
    return false;
  room += replaced - shape->getBytes();
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  if (!epilogue) {
    createStoredLoops(builder, product, *shape, /*epilogue=*/nullptr);
    op->erase();
    return true;
  }
  builder.setInsertionPoint(epilogue->getLast());
  createStoredLoops(builder, product, *shape, &*epilogue);
  epilogue->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Warpgroups
//===----------------------------------------------------------------------===//

/// Returns the conversions of the results of several products that readers can
/// repeat themselves. Each reader then reads the accumulators, which all exist
/// at the same time.
static SmallVector<ResultConversion>
findConversions(const ProductGroup &group) {
  SmallVector<ResultConversion> conversions;
  if (group.products.size() == 1)
    return conversions;
  for (const MatmulTile &product : group.products) {
    std::optional<Lifetime> lifetime = findLifetime(product);
    if (!lifetime || lifetime->users.size() != 1)
      continue;
    if (auto conversion = ResultConversion::match(lifetime->users.front()))
      conversions.push_back(*conversion);
  }
  return conversions;
}

static void replace(const ProductGroup &group, Block &block, int64_t threads,
                    const WarpgroupShape &shape) {
  ImplicitLocOpBuilder builder = getBuilder(group, block);
  SmallVector<Value> accumulators =
      createWarpgroupLoops(builder, group.products, shape, threads);
  for (auto [product, buffer] : llvm::zip(group.products, accumulators)) {
    if (std::optional<Lifetime> lifetime = findLifetime(product))
      replace(product, *lifetime, buffer);
    else
      addPartialSums(product, buffer);
  }
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
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(body, *vctas.getBody());
  }

private:
  void run(func::FuncOp body, Block &block);
  TensorMapUse getMapUse(func::FuncOp body);
  void replaceStoredProducts(Block &block, ArrayRef<MmaAttr> instructions,
                             int64_t &room, int64_t spare);
  int64_t getSpareBytes(int64_t memory);
};
} // namespace

/// Chooses how warpgroups multiply the products of a group. First tries `room`
/// bytes and the `spare` bytes, which are reserved for tables and not needed.
/// If warpgroups need more, they take the whole reserve: a table that is read
/// from global memory costs a task about a microsecond, and products without
/// warpgroups take several times as long.
static std::optional<WarpgroupShape> chooseShape(const ProductGroup &group,
                                                 const Units &units,
                                                 int64_t room, int64_t spare) {
  if (auto shape = units.choose(group.products, room + spare))
    return shape;
  return units.choose(group.products,
                      room + getTableRoom(units.memory) - kDispatchStateBytes);
}

/// Returns the bytes of shared memory that warps use for a group: `room`, or,
/// if stages of the operands need more, also the `spare` bytes of the reserve
/// for tables and the temporaries that accumulators replace.
static int64_t chooseRoom(const ProductGroup &group, int64_t threads,
                          int64_t room, int64_t spare) {
  if (canStageOperands(group.products, threads, room))
    return room;
  int64_t most = room + spare + getReplacedBytes(group, threads);
  return canStageOperands(group.products, threads, most) ? most : room;
}

/// Returns the bytes of a shared memory that are reserved for tables and not
/// needed.
int64_t UseTensorCoresPass::getSpareBytes(int64_t memory) {
  int64_t spare = getTableRoom(memory);
  for (auto kernel : getOperation().getOps<KernelOp>())
    spare -= getTableBytes(kernel);
  return std::max<int64_t>(spare, 0);
}

/// Returns true if the kernel builds tensor maps. The map indices of tasks lie
/// in constant memory, which limits the number of tasks.
static bool haveTensorMaps(ModuleOp module) {
  auto kernels = module.getOps<KernelOp>();
  return SymbolTable(module).lookup(kTensorMapFunction) && !kernels.empty() &&
         (*kernels.begin()).getTasks().size() <= kMaxTasksWithMaps;
}

/// Returns the products of a body that TMA copies. Only threads copy the next
/// tile of a work item early, which saves more time than TMA.
TensorMapUse UseTensorCoresPass::getMapUse(func::FuncOp body) {
  auto vctas = body->getAttrOfType<IntegerAttr>(kWorkItemVctasAttr);
  if (!getTarget(getOperation()).hasCopy(CopyKind::TensorMap) ||
      !haveTensorMaps(getOperation()))
    return TensorMapUse::Never;
  if (allTensorMaps)
    return TensorMapUse::Always;
  return vctas && vctas.getInt() > 1 ? TensorMapUse::Never
                                     : TensorMapUse::WhereFaster;
}

void UseTensorCoresPass::replaceStoredProducts(Block &block,
                                               ArrayRef<MmaAttr> instructions,
                                               int64_t &room, int64_t spare) {
  SmallVector<MatmulTile> products;
  for (auto op : block.getOps<linalg::LinalgOp>())
    if (std::optional<MatmulTile> product = MatmulTile::match(op, instructions);
        product && !product->convolution)
      products.push_back(*product);
  for (const MatmulTile &product : products)
    if (replaceStored(product, instructions, threads, room, spare))
      ++numProducts;
}

void UseTensorCoresPass::run(func::FuncOp body, Block &block) {
  TargetAttr target = getTarget(getOperation());
  SmallVector<MmaAttr> instructions = findAllRegisterMmas(getOperation());
  if (instructions.empty())
    return;
  bool canStage = target.hasCopy(CopyKind::CpAsync);
  Units units{threads, instructions, findSharedMemoryMma(getOperation()),
              getMapUse(body), target.getSharedMemory()};
  int64_t room = getSharedRoom(body, units.memory),
          spare = getSpareBytes(units.memory);
  if (!canStage)
    replaceStoredProducts(block, instructions, room, spare);
  for (const ProductGroup &group : findGroups(block, units)) {
    int64_t replaced = getReplacedBytes(group.products);
    SmallVector<ResultConversion> conversions = findConversions(group);
    for (const ResultConversion &conversion : conversions)
      replaced += getSharedBytes(conversion.temporary);
    if (auto shape = chooseShape(group, units, room + replaced, spare)) {
      shape->roundAccumulators(findRoundedType(group.products));
      replace(group, block, threads, *shape);
      for (ResultConversion &conversion : conversions)
        conversion.inlineIntoReader();
      room += replaced - shape->getBytes();
      numProducts += group.products.size();
      continue;
    }
    if (!units.canUseWarps(group.products))
      continue;
    numProducts += group.products.size();
    int64_t most = canStage ? chooseRoom(group, threads, room, spare) : room;
    int64_t stageRoom = canStage ? most : 0;
    int64_t bytes = getMmaBytes(group.products, threads, stageRoom);
    if (bytes <= most) {
      room += getReplacedBytes(group, threads) - bytes;
      replace(group, block, threads, stageRoom);
    } else {
      replaceDirectly(group, threads);
    }
  }
}
