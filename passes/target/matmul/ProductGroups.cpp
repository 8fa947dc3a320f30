//===- ProductGroups.cpp - Products of one left operand -------------------===//

#include "passes/target/matmul/ProductGroups.h"

#include "passes/target/matmul/MmaLoops.h"
#include "passes/target/matmul/ProductLifetime.h"
#include "passes/target/support/Aliasing.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

bool Units::canUseWarps(ArrayRef<MatmulTile> products) const {
  return llvm::all_of(products,
                      [](const MatmulTile &product) {
                        return product.isKMajor() && !product.isSplit();
                      }) &&
         MmaShape(products, threads).fits();
}

std::optional<WarpgroupShape> Units::choose(ArrayRef<MatmulTile> products,
                                            int64_t room) const {
  if (!warpgroupMma ||
      products.front().mma.getOperands() != warpgroupMma.getOperands())
    return std::nullopt;
  return WarpgroupShape::choose(products, warpgroupMma, threads, room, maps);
}

/// Returns the last op before a product that defines or writes one of its
/// operands.
static Operation *getLastSource(const MatmulTile &product) {
  Operation *op = product.op;
  auto isSource = [&](Operation &other) {
    return llvm::any_of(
        ArrayRef<Value>{product.left, product.right}, [&](Value operand) {
          return operand.getDefiningOp() == &other ||
                 llvm::any_of(getAccesses(&other), [&](const Access &access) {
                   return conflict({operand, /*writes=*/false}, access);
                 });
        });
  };
  while ((op = op->getPrevNode()))
    if (isSource(*op))
      return op;
  return nullptr;
}

/// Moves a view, and the views of which it is a view, to the first point of a
/// block at which their operands have values.
static void hoistViews(Value operand, Block &block) {
  auto view = operand.getDefiningOp<memref::SubViewOp>();
  if (!view || view->getBlock() != &block)
    return;
  Operation *last = nullptr;
  for (Value source : view->getOperands()) {
    hoistViews(source, block);
    Operation *op = source.getDefiningOp();
    if (op && op->getBlock() == &block && (!last || last->isBeforeInBlock(op)))
      last = op;
  }
  if (last)
    view->moveAfter(last);
  else
    view->moveBefore(&block.front());
}

/// Moves the view that is the right operand of a product before an earlier
/// product with the same left operand, so that both can be computed together.
/// The row of a table that an index selects is such a view.
static void hoistRight(const MatmulTile &product,
                       ArrayRef<ProductGroup> groups) {
  Operation *view = product.right.getDefiningOp();
  linalg::LinalgOp op = product.op;
  bool isLate = view && llvm::any_of(groups, [&](const ProductGroup &group) {
                  const MatmulTile &first = group.products.front();
                  return first.left == product.left &&
                         view->getBlock() == op->getBlock() &&
                         !view->isBeforeInBlock(first.op);
                });
  if (isLate)
    hoistViews(product.right, *op->getBlock());
}

/// Returns true if `product` can be computed together with the products of a
/// group, before the first use of any result. For large products, the registers
/// of a warp hold the accumulators of two products.
static bool fits(const MatmulTile &product, Operation *source,
                 const ProductGroup &group, const Units &units) {
  const MatmulTile &first = group.products.front();
  bool isAlike =
      !product.convolution && !first.convolution &&
      product.left == first.left && product.leftMajor == first.leftMajor &&
      product.depth == first.depth && product.rows == first.rows &&
      llvm::divideCeil(product.columns, product.getUnitColumns()) ==
          llvm::divideCeil(first.columns, first.getUnitColumns()) &&
      product.mma == first.mma &&
      product.getElementType() == first.getElementType() &&
      getElementTypeOrSelf(product.right) == getElementTypeOrSelf(first.right);
  if (!isAlike || (source && !source->isBeforeInBlock(first.op)))
    return false;
  return product.isSkinny() ||
         (group.products.size() == 1 && units.canMultiply({first, product}));
}

SmallVector<ProductGroup> ark::findGroups(Block &block, const Units &units) {
  SmallVector<ProductGroup> groups;
  for (auto op : block.getOps<linalg::LinalgOp>()) {
    std::optional<MatmulTile> product =
        MatmulTile::match(op, units.instructions);
    if (!product || !units.canMultiply(*product))
      continue;
    // The accumulators of a convolution replace its result.
    if (product->convolution && !findLifetime(*product))
      continue;
    hoistRight(*product, groups);
    Operation *source = getLastSource(*product);
    auto *group = llvm::find_if(groups, [&](const ProductGroup &group) {
      return fits(*product, source, group, units);
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
