//===- ChosenMatrices.h - Products with matrices of a table -----*- C++ -*-===//
//
// A gather chooses matrices `[V, N, K]` from a table `[E, N, K]`. If a product
// is its only reader, gather and product form one group, whose vCTAs have one
// index each: a vCTA reads the rows of its matrix in the table, and nothing is
// copied.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_SUPPORT_CHOSENMATRICES_H
#define ARK_LIB_SUPPORT_CHOSENMATRICES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the product whose right side are the matrices that `gather` chooses,
/// or null if another op reads them, too. Conversions of the matrices are not
/// counted, because ark-decompose creates some that it does not use.
inline MatmulOp getProductOfChosen(GatherOp gather) {
  auto indices = cast<RankedTensorType>(gather.getIndices().getType());
  auto table = cast<RankedTensorType>(gather.getSource().getType());
  if (gather.getAxis() != 0 || indices.getRank() != 1 || table.getRank() != 3)
    return {};
  MatmulOp product;
  for (OpOperand &use : gather->getUses()) {
    if (isa<UnrealizedConversionCastOp>(use.getOwner()))
      continue;
    auto reader = dyn_cast<MatmulOp>(use.getOwner());
    if (product || !reader || reader.getRhs() != gather.getResult() ||
        reader.getLhs() == gather.getResult())
      return {};
    product = reader;
  }
  return product;
}

/// Returns the gather that chooses the right side of a product in its group, or
/// null.
inline GatherOp getChosen(MatmulOp product) {
  auto gather = product.getRhs().getDefiningOp<GatherOp>();
  return gather && getProductOfChosen(gather) == product ? gather : GatherOp();
}

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_CHOSENMATRICES_H
