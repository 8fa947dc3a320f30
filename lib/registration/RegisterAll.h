//===- RegisterAll.h - Registration of dialects and passes ------*- C++ -*-===//
//
// Registers everything that ark adds to MLIR, for ark-opt and for the C API.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_REGISTRATION_REGISTERALL_H
#define ARK_LIB_REGISTRATION_REGISTERALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ark {

/// Registers the dialect, and the interfaces that its lowering to LLVM IR and
/// PTX needs.
void registerAllArkDialects(DialectRegistry &registry);

/// Registers the passes of every stage, and the pipelines.
void registerAllArkPasses();

} // namespace mlir::ark

#endif // ARK_LIB_REGISTRATION_REGISTERALL_H
