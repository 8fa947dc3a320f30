//===- ArkLimits.h - Limits on the size of a program ------------*- C++ -*-===//
//
// Sizes beyond these limits are mistakes. Checks where a size enters keep sums
// and products of sizes within 64 bits everywhere else.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKLIMITS_H
#define DIALECTS_ARK_ARKLIMITS_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace mlir::ark {

/// The most SMs of a target and of a schedule.
inline constexpr int64_t kMaxSms = int64_t(1) << 16;
/// The most ranks of a world. Each rank has at least one SM.
inline constexpr int64_t kMaxRanks = kMaxSms;
/// The most dimensions of a tensor: as many as an array of the oldest numpy
/// that runs bundles can have. ArkTypes.td and frontend/shapes.py have the same
/// number.
inline constexpr int64_t kMaxDimensions = 32;
/// The most bytes of a splat constant, which a bundle writes out in full.
inline constexpr int64_t kMaxSplatBytes = int64_t(1) << 31;
/// The most vCTAs of one task.
inline constexpr int64_t kMaxVCTAs = int64_t(1) << 22;
/// The most bytes of one tensor or buffer: as many as a process can address.
inline constexpr int64_t kMaxBytes = int64_t(1) << 47;

/// Returns true if the bytes up to the last element, gaps between strides
/// included, are at most `kMaxBytes`. A dimension without elements counts as
/// one of extent 1, since its strides are products of the other extents. A
/// dynamic dimension counts as one of extent 1, too.
bool isAddressable(ShapedType type);

/// Returns the number of vCTAs of a grid. Returns nothing if an extent is not
/// positive or the number exceeds `kMaxVCTAs`.
std::optional<int64_t> countVCTAs(ArrayRef<int64_t> grid);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKLIMITS_H
