//===- RegisterAll.h - Everything ark adds to MLIR --------------*- C++ -*-===//
//
// The one list of what ark registers, used by ark-opt and by the C API.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_REGISTRATION_REGISTERALL_H
#define ARK_LIB_REGISTRATION_REGISTERALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::ark {

/// The dialect, and the interfaces that its ops implement outside of it.
void registerAllArkDialects(DialectRegistry &registry);

/// The passes of every stage, and the pipelines.
void registerAllArkPasses();

} // namespace mlir::ark

#endif // ARK_LIB_REGISTRATION_REGISTERALL_H
