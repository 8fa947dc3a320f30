//===- BufferizeAttention.h - Bufferize an attention ------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEATTENTION_H
#define ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEATTENTION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ark {

/// Attaches BufferizableOpInterface to `ark.online_attention`.
void registerAttentionBufferization(DialectRegistry &registry);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEATTENTION_H
