//===- RoundedResults.cpp - Results that all readers round ----------------===//

#include "passes/target/matmul/RoundedResults.h"

#include "passes/target/matmul/ProductLifetime.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the type of 16 bits to which an op rounds each element of an input.
static FloatType getRoundedType(linalg::LinalgOp reader, OpOperand &input) {
  FloatType rounded;
  if (!reader.isDpsInput(&input))
    return {};
  for (Operation *user : reader.getMatchingBlockArgument(&input).getUsers()) {
    auto truncation = dyn_cast<arith::TruncFOp>(user);
    auto type =
        truncation ? dyn_cast<FloatType>(truncation.getType()) : FloatType();
    if (!type || type.getWidth() != 16 || (rounded && rounded != type))
      return {};
    rounded = type;
  }
  return rounded;
}

FloatType ark::findRoundedType(ArrayRef<MatmulTile> products) {
  FloatType rounded;
  for (const MatmulTile &product : products) {
    std::optional<Lifetime> lifetime = findLifetime(product);
    if (!lifetime || lifetime->users.empty())
      return {};
    for (Operation *user : lifetime->users)
      for (OpOperand &operand : user->getOpOperands()) {
        if (operand.get() != lifetime->buffer)
          continue;
        FloatType type = getRoundedType(cast<linalg::LinalgOp>(user), operand);
        if (!type || (rounded && rounded != type))
          return {};
        rounded = type;
      }
  }
  return rounded;
}

void ark::removeRoundings(Operation *reader, Value rounded) {
  auto op = cast<linalg::LinalgOp>(reader);
  for (OpOperand &operand : reader->getOpOperands()) {
    if (operand.get() != rounded)
      continue;
    BlockArgument element = op.getMatchingBlockArgument(&operand);
    element.setType(getElementTypeOrSelf(rounded));
    for (Operation *user : llvm::make_early_inc_range(element.getUsers())) {
      user->replaceAllUsesWith(ValueRange(element));
      user->erase();
    }
  }
}
