//===- BufferizeBodyOps.h - Bufferize the ops of bodies ---------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEBODYOPS_H
#define ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEBODYOPS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ark {

/// Attaches BufferizableOpInterface to ark.online_attention and ark.row_norm.
void registerBodyOpBufferization(DialectRegistry &registry);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_BUFFERIZEBODYOPS_H
