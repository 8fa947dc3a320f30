//===- ArenaAlignment.h - Alignment of intermediates ------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_ARENAALIGNMENT_H
#define ARK_LIB_SUPPORT_ARENAALIGNMENT_H

#include <cstdint>

namespace mlir::ark {

/// Alignment of intermediates in the arena, in bytes: no two intermediates
/// share a cache line.
inline constexpr int64_t kArenaAlignment = 64;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_ARENAALIGNMENT_H
