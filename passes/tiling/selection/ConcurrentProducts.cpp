//===- ConcurrentProducts.cpp - Tiles of products that run at once --------===//

#include "passes/tiling/selection/ConcurrentProducts.h"

#include "lib/support/GraphUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct Product {
  GroupOp group;
  ProductSizes sizes;
};
} // namespace

/// Returns the tensor that a group's product reads as its left operand, or null
/// if the body computes the operand.
static Value getLeftTensor(GroupOp group) {
  auto matmul = cast<MatmulOp>(getTileAnchor(group).getOperation());
  auto argument = dyn_cast<BlockArgument>(matmul.getLhs());
  return argument ? group->getOperand(argument.getArgNumber()) : Value();
}

/// Returns true if no product depends on another one. The products are in the
/// order of the block.
static bool areIndependent(ArrayRef<Product> products) {
  for (auto [index, second] : llvm::enumerate(products))
    for (Product first : products.take_front(index))
      if (dependsOn(second.group, first.group))
        return false;
  return true;
}

static bool haveEqualOperands(const ProductSizes &a, const ProductSizes &b) {
  return a.batches == b.batches && a.rows == b.rows && a.depth == b.depth &&
         a.terms == b.terms && a.canWarpsRead == b.canWarpsRead &&
         a.isRightAlongDepth == b.isRightAlongDepth;
}

/// Returns the common tile of products if its predicted time is shorter than
/// the sum of the times that the products take one after the other.
static std::optional<ProductTile> findFasterTile(TargetAttr target,
                                                 ArrayRef<Product> products) {
  SmallVector<ProductSizes> sizes;
  double inTurn = 0;
  for (const Product &product : products) {
    std::optional<ProductTile> own = findListedTile(target, product.sizes);
    if (!own || !haveEqualOperands(product.sizes, products.front().sizes))
      return std::nullopt;
    sizes.push_back(product.sizes);
    inTurn += own->ns;
  }
  std::optional<ProductTile> common = findCommonTile(target, sizes);
  return common && common->ns < inTurn ? common : std::nullopt;
}

llvm::DenseMap<Operation *, Tile>
ark::selectConcurrentProducts(ProgramOp program, const TileSelector &selector) {
  llvm::MapVector<Value, SmallVector<Product>> readers;
  for (auto group : program.getBody().getOps<GroupOp>())
    if (std::optional<ProductSizes> sizes = selector.getListedSizes(group))
      if (Value left = getLeftTensor(group))
        readers[left].push_back({group, *sizes});
  llvm::DenseMap<Operation *, Tile> tiles;
  for (auto &[left, products] : readers) {
    if (products.size() < 2)
      continue;
    std::optional<ProductTile> found =
        findFasterTile(selector.target, products);
    if (!found || !areIndependent(products))
      continue;
    for (Product product : products) {
      Tile tile(getDomain(product.group).size() - 2, 1);
      tile.append({found->rows, found->columns});
      tiles[product.group] = tile;
    }
  }
  return tiles;
}
