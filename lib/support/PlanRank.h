//===- PlanRank.h - Rank of a task or a group -------------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_PLANRANK_H
#define ARK_LIB_SUPPORT_PLANRANK_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the rank in the plan of a task or a group, or null in a program of
/// one rank.
template <typename OpT>
Attribute getRankAttr(OpT op) {
  DictionaryAttr plan = op.getPlanAttr();
  return plan ? plan.get(ArkDialect::kRankKey) : Attribute();
}

/// Returns the rank of a task or a group; 0 in a program of one rank.
template <typename OpT>
int64_t getRank(OpT op) {
  auto rank = dyn_cast_if_present<IntegerAttr>(getRankAttr(op));
  return rank ? rank.getInt() : 0;
}

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_PLANRANK_H
