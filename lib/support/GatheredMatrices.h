//===- GatheredMatrices.h - Products with gathered matrices -----*- C++ -*-===//
//
// A gather reads matrices `[V, N, K]` from a table `[E, N, K]`. If a product is
// the only reader of the result, gather and product form one group, whose vCTAs
// have one index each: a vCTA reads the rows of its matrix in the table, and no
// matrix is copied.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_SUPPORT_GATHEREDMATRICES_H
#define ARK_LIB_SUPPORT_GATHEREDMATRICES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the product whose right operand is the result of `gather`, or null
/// if another op reads this result, too. Conversions of the matrices do not
/// count as readers, because ark-decompose creates unused conversions.
inline MatmulOp getProductOfGathered(GatherOp gather) {
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

/// Returns the gather that produces the right operand of a product in its
/// group, or null.
inline GatherOp getGather(MatmulOp product) {
  auto gather = product.getRhs().getDefiningOp<GatherOp>();
  return gather && getProductOfGathered(gather) == product ? gather
                                                           : GatherOp();
}

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_GATHEREDMATRICES_H
