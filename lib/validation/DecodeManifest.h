//===- DecodeManifest.h - From JSON to records ------------------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_DECODEMANIFEST_H
#define ARK_LIB_VALIDATION_DECODEMANIFEST_H

#include "lib/validation/BundleRecords.h"

namespace mlir::ark::validation {

/// Reads what the proof needs of a manifest. Numbers are in range and indices
/// name what there is; fails with an error at `loc` otherwise.
FailureOr<Manifest> decodeManifest(StringRef json, Location loc);

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_DECODEMANIFEST_H
