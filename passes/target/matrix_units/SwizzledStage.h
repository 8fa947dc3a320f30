//===- SwizzledStage.h - Operands of wgmma in shared memory -----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATRIX_UNITS_SWIZZLEDSTAGE_H
#define ARK_PASSES_TARGET_MATRIX_UNITS_SWIZZLEDSTAGE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Elements of K per stage. A row of a stage has 128 bytes; eight rows form one
/// swizzle block. A row holds the K of one row of the operand, or, for the
/// major MN, a panel of 64 elements of M or N for one K. The rows of a panel
/// follow one another, one for each K of the stage.
inline constexpr int64_t kStageDepth = 64;
inline constexpr int64_t kStageRowBytes = 128;
inline constexpr int64_t kStageAlignment = 1024;
inline constexpr int64_t kPanelElements = 64;
inline constexpr int64_t kPanelBytes = kStageDepth * kStageRowBytes;
/// Rows of a swizzle block.
inline constexpr int64_t kBlockRows = 8;
/// The unit of shared-memory descriptors in bytes, and the constant bits of a
/// descriptor: the distance between blocks from bit 32 on, and the 128-byte
/// swizzle at bit 62. The distance between panels lies from bit 16 on.
inline constexpr int64_t kDescriptorUnit = 16;
inline constexpr int64_t kDescriptorLayout =
    kBlockRows * kStageRowBytes / kDescriptorUnit << 32 | int64_t(1) << 62;
inline constexpr int64_t kPanelLayout = kPanelBytes / kDescriptorUnit << 16;

/// Returns the descriptor of an operand that begins at a pointer to shared
/// memory, which is a multiple of a swizzle block. `hasPanels` is true for the
/// major MN. For the major K, bits 16 to 29 are ignored, since rows are as long
/// as the swizzle. The descriptor is computed at this point.
Value createStageDescriptor(ImplicitLocOpBuilder &builder, Value pointer,
                            bool hasPanels);

/// Makes the stores of all threads of the CTA to stages visible to `wgmma`,
/// which reads shared memory through the async proxy.
void fenceStages(ImplicitLocOpBuilder &builder);

/// Waits until at most `count` groups of `cp.async` copies are in flight, for
/// all threads of the CTA, and fences them for `wgmma`.
void waitForStageCopies(ImplicitLocOpBuilder &builder, int64_t count);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATRIX_UNITS_SWIZZLEDSTAGE_H
