//===- ArkLimits.h - How large a program may be -----------------*- C++ -*-===//
//
// Sizes beyond these are mistakes. Bounding them where they enter keeps sums
// and products of them within 64 bits everywhere else.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKLIMITS_H
#define DIALECTS_ARK_ARKLIMITS_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace mlir::ark {

/// Streaming multiprocessors of a target, and of a schedule.
inline constexpr int64_t kMaxSms = int64_t(1) << 16;
/// Ranks of a world: each has one SM at least.
inline constexpr int64_t kMaxRanks = kMaxSms;
/// Dimensions of a tensor: as many as an array of the oldest numpy that runs
/// bundles can have. ArkTypes.td and frontend/shapes.py have the same number.
inline constexpr int64_t kMaxDimensions = 32;
/// Bytes of a constant that is a splat, and is written out in a bundle.
inline constexpr int64_t kMaxSplatBytes = int64_t(1) << 31;
/// vCTAs of one task.
inline constexpr int64_t kMaxVCTAs = int64_t(1) << 22;
/// Bytes of one tensor or buffer: what a process can address.
inline constexpr int64_t kMaxBytes = int64_t(1) << 47;

/// Whether the bytes up to the last element, gaps between strides included, are
/// at most `kMaxBytes`. Dimensions without elements count once: their strides
/// are products of the others. Dynamic ones count once, too.
bool isAddressable(ShapedType type);

/// The number of vCTAs of a grid; null where an extent is not positive or there
/// are more than `kMaxVCTAs`.
std::optional<int64_t> countVCTAs(ArrayRef<int64_t> grid);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKLIMITS_H
