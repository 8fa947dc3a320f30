//===- ArkLimits.h - Limits on the size of a program ------------*- C++ -*-===//
//
// Sizes beyond these limits are mistakes. The verifiers check each size once,
// so that all other code can add and multiply sizes without 64-bit overflow.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKLIMITS_H
#define DIALECTS_ARK_ARKLIMITS_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace mlir::ark {

/// Maximum number of SMs of a target and of a schedule.
inline constexpr int64_t kMaxSms = int64_t(1) << 16;
/// Maximum number of ranks of a world. Each rank has at least one SM.
inline constexpr int64_t kMaxRanks = kMaxSms;
/// Maximum number of dimensions of a tensor: as many as an array of the oldest
/// numpy that runs bundles can have. ArkTypes.td and frontend/shapes.py have
/// the same number.
inline constexpr int64_t kMaxDimensions = 32;
/// Maximum number of bytes of a splat constant, which a bundle writes out in
/// full.
inline constexpr int64_t kMaxSplatBytes = int64_t(1) << 31;
/// Maximum number of vCTAs of a task.
inline constexpr int64_t kMaxVCTAs = int64_t(1) << 22;
/// Maximum number of bytes of a tensor or buffer: the address space of a
/// process.
inline constexpr int64_t kMaxBytes = int64_t(1) << 47;

/// Returns true if the bytes up to the last element, including gaps between
/// strides, are at most `kMaxBytes`. A dimension of extent 0 counts as extent
/// 1, since its strides are products of the other extents. A dynamic dimension
/// counts as extent 1, too.
bool isAddressable(ShapedType type);

/// Returns the number of vCTAs of a grid. Returns nothing if an extent is not
/// positive or the number exceeds `kMaxVCTAs`.
std::optional<int64_t> countVCTAs(ArrayRef<int64_t> grid);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKLIMITS_H
