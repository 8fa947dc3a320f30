//===- Streaming.h - Matmuls that stream their weights ----------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_STREAMING_H
#define ARK_LIB_SUPPORT_STREAMING_H

#include <cstdint>

namespace mlir::ark {

/// The most rows of a matmul that streams its weights. Every weight is used so
/// few times that reading the weights takes most of the time.
inline constexpr int64_t kStreamingRows = 16;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_STREAMING_H
