//===- ProductLifetime.cpp - Temporaries of single products ---------------===//

#include "passes/target/matmul/ProductLifetime.h"

#include "passes/target/memory_access/SharedMemory.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

static bool isZeroFill(linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  std::optional<Value> value =
      generic ? linalg::isaFillOpInterface(generic) : std::nullopt;
  return value && isZero(*value);
}

memref::AllocaOp ark::getTemporary(Value buffer) {
  auto view = buffer.getDefiningOp<memref::SubViewOp>();
  if (view && !view.getSource().hasOneUse())
    return {};
  Value source = view ? view.getSource() : buffer;
  return source.getDefiningOp<memref::AllocaOp>();
}

std::optional<Lifetime> ark::findLifetime(const MatmulTile &product) {
  memref::AllocaOp temporary = getTemporary(product.out);
  if (!temporary)
    return std::nullopt;
  SmallVector<Operation *> users(product.out.user_begin(),
                                 product.out.user_end());
  if (!llvm::all_of(users, [&](Operation *user) {
        return isa<linalg::LinalgOp>(user) &&
               user->getBlock() == product.op->getBlock();
      }))
    return std::nullopt;
  llvm::sort(users, [](Operation *a, Operation *b) {
    return a != b && a->isBeforeInBlock(b);
  });
  users.erase(llvm::unique(users), users.end());
  auto clears = [](Operation *user) {
    return isZeroFill(cast<linalg::LinalgOp>(user));
  };
  linalg::LinalgOp op = product.op;
  auto *user = llvm::find(users, op.getOperation());
  if (!clears(users.front()) || !clears(*std::prev(user)))
    return std::nullopt;
  Lifetime lifetime{
      temporary, product.out, cast<linalg::LinalgOp>(*std::prev(user)), {}};
  auto *end = std::find_if(user, users.end(), clears);
  lifetime.users.assign(std::next(user), end);
  return lifetime;
}

int64_t ark::getReplacedBytes(ArrayRef<MatmulTile> products) {
  llvm::SmallDenseMap<Value, llvm::SmallPtrSet<Operation *, 8>> users;
  for (const MatmulTile &product : products)
    if (std::optional<Lifetime> lifetime = findLifetime(product)) {
      auto &known = users[lifetime->buffer];
      known.insert_range(lifetime->users);
      known.insert(lifetime->fill);
      known.insert(linalg::LinalgOp(product.op));
    }
  int64_t bytes = 0;
  for (auto &entry : users)
    if (llvm::all_of(entry.first.getUsers(), [&](Operation *user) {
          return entry.second.contains(user);
        }))
      bytes += getSharedBytes(getTemporary(entry.first));
  return bytes;
}
