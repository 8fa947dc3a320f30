//===- WeightStreams.h - Products with streamed weights ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WEIGHT_STREAMING_WEIGHTSTREAMS_H
#define ARK_PASSES_TARGET_WEIGHT_STREAMING_WEIGHTSTREAMS_H

#include "dialects/ark/ArkOps.h"
#include "lib/support/QuantizedProducts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernel/KernelAbi.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// Warps of a CTA that streams weights.
inline constexpr int64_t kStreamWarps = abi::kStreamWarps;

/// The scales of a streamed parameter, and the zeros if it has any: operands of
/// the body with a row for each row of the parameter.
struct Quantization {
  QuantizedProduct product;
  BlockArgument scales, zeros;

  SmallVector<Value> getBuffers() const {
    SmallVector<Value> buffers = {scales};
    if (zeros)
      buffers.push_back(zeros);
    return buffers;
  }
};

/// A product of one activation row with the rows of a parameter. vCTAs have
/// disjoint, consecutive rows, so that a work item reads consecutive bytes of
/// the parameter, each byte once.
struct WeightStream {
  linalg::GenericOp product;
  /// The activation row, `memref<1xK>`, is the same for all vCTAs of a work
  /// item. The parameter is a `memref<NxK>`.
  Value row;
  BlockArgument parameter;
  int64_t rowsPerVcta = 0;
  /// Present if the product is one of quantized weights.
  std::optional<Quantization> quantization;
  /// The chunks of a row have equal size, and their number is a power of two.
  /// The warps read them in round-robin order.
  int64_t chunksPerRow = 0, chunkBytes = 0;

  int64_t getNumRows() const;
  /// Returns the bits of a number of the parameter.
  int64_t getNumBits() const;
  int64_t getChunkElements() const { return chunkBytes * 8 / getNumBits(); }
  /// Returns the number of warps that share a row.
  int64_t getWarpsPerRow() const;
  /// Returns the number of chunks of one row that a warp reads. The number is
  /// greater than 1 only if all warps share the row.
  int64_t getChunksPerWarp() const;
  /// Returns the number of chunks in the rows of vCTAs [begin, end).
  int64_t getNumChunks(int64_t begin, int64_t end) const;
  MemRefType getType() const;
};

/// Returns the distance between the tiles of neighbouring vCTAs if `offset` is
/// a multiple of the vCTA's index.
std::optional<int64_t> getVctaStride(OpFoldResult offset, scf::ForOp vctas);

/// Returns true if no op of the loop over vCTAs before `reader` may write
/// `buffer`. A work item can then read `buffer` before the loop: its vCTAs do
/// not write what other vCTAs of the work item read.
bool isUnchangedBefore(linalg::GenericOp reader, Value buffer,
                       scf::ForOp vctas);

/// Returns the products of a body whose parameters can be streamed, in program
/// order.
SmallVector<WeightStream> findWeightStreams(KernelOp kernel, func::FuncOp body);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WEIGHT_STREAMING_WEIGHTSTREAMS_H
