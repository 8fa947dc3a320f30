//===- Streaming.h - Matmuls limited by reads of weights --------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_STREAMING_H
#define ARK_LIB_SUPPORT_STREAMING_H

#include <cstdint>

namespace mlir::ark {

/// The most rows of a matmul whose time is mostly that of reading its weights,
/// because each weight is used so few times. Weight rings serve only one row.
inline constexpr int64_t kStreamingRows = 16;

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_STREAMING_H
