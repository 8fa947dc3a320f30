//===- Streaming.h - Products that read a side once -------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_STREAMING_H
#define ARK_LIB_SUPPORT_STREAMING_H

#include <cstdint>

namespace mlir::ark {

/// A matmul with no more rows than this streams its weights: every element is
/// used so few times that reading them is the work.
inline constexpr int64_t kStreamingRows = 16;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_STREAMING_H
