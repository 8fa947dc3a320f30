//===- RankParts.h - Parts of memory for each rank --------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_RANKPARTS_H
#define ARK_LIB_SUPPORT_RANKPARTS_H

#include <cstdint>

namespace mlir::ark {

/// Size of the pages in which a GPU can map memory of another GPU. Each rank's
/// parts of the arena and of the packets consist of whole pages, so that each
/// rank can have a separate GPU.
inline constexpr int64_t kPeerPageBytes = int64_t(1) << 21;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_RANKPARTS_H
