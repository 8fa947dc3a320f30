//===- OnePassAttention.h - Attention without scores in memory --*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_ONEPASSATTENTION_H
#define ARK_LIB_SUPPORT_ONEPASSATTENTION_H

#include <cstdint>

namespace mlir::ark {

/// The largest depth of an attention that a warp computes in one pass over the
/// keys: a thread has registers for its share of several rows.
inline constexpr int64_t kMaxOnePassDepth = 128;
/// The depth of such an attention is a multiple of this number.
inline constexpr int64_t kOnePassDepthUnit = 16;
/// The depth of an attention of warpgroups is a multiple of this number, the
/// elements of a row of a swizzle block.
inline constexpr int64_t kWarpgroupDepthUnit = 64;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_ONEPASSATTENTION_H
