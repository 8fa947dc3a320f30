//===- GpuInstructions.h - Instructions of a family of GPUs -----*- C++ -*-===//

#ifndef ARK_LIB_BACKEND_GPUINSTRUCTIONS_H
#define ARK_LIB_BACKEND_GPUINSTRUCTIONS_H

#include "mlir/IR/Builders.h"

namespace mlir::ark {

/// Creates code for which GPUs have instructions of their own. By default, the
/// code is for any GPU of LLVM.
class GpuInstructions {
public:
  virtual ~GpuInstructions();

  /// Returns the i32 `number`, which compilers can neither fold nor move. By
  /// default, inline assembly without text.
  virtual Value createOpaqueNumber(OpBuilder &builder, Location loc,
                                   Value number) const;

  /// Returns the index of the thread in its CTA as an i32, read again where the
  /// instruction stands. By default, copies the index.
  virtual Value createOpaqueThread(OpBuilder &builder, Location loc) const;

  /// Returns the i64 `number`. Compilers move no load across the instruction.
  /// By default, inline assembly without text.
  virtual Value createLoadFence(OpBuilder &builder, Location loc,
                                Value number) const;

  /// Returns true if all threads of a warp have to execute a load fence. By
  /// default, false.
  virtual bool doesLoadFenceNeedWarp() const { return false; }

  /// Returns the pointer `base`, which all threads of a warp have in common.
  /// Code generators keep the result in registers of the warp, and do not
  /// combine it with distances of single threads. By default, the pointer
  /// itself.
  virtual Value createWarpPointer(OpBuilder &builder, Location loc,
                                  Value base) const;

  /// Waits until all of the loaded vectors have arrived. Otherwise, each use
  /// waits for its own vector, which takes an instruction per vector on some
  /// GPUs. By default, does nothing.
  virtual void awaitLoads(OpBuilder &builder, Location loc,
                          ValueRange loaded) const;

  /// Keeps the order of the instructions before and after this point. By
  /// default, code generators choose the order.
  virtual void keepOrder(OpBuilder &builder, Location loc) const;

  /// Returns 2^exponent of an f32 with some 20 correct bits or more. Results
  /// below the smallest normal number may be zero. By default, LLVM's
  /// intrinsic.
  virtual Value createExp2(OpBuilder &builder, Location loc,
                           Value exponent) const;

  /// Returns true if an instruction returns the larger of two f32, NaN if one
  /// of them is NaN, and the positive one of two zeros. By default, true.
  virtual bool hasMaximum() const { return true; }

  /// Returns an i32 whose lower half is a half of `a`, and whose upper half is
  /// the same half of `b`. By default, shifts and masks.
  virtual Value joinHalves(OpBuilder &builder, Location loc, Value a, Value b,
                           bool areUpper) const;

  /// Loads two or four words of data that is read once, as a vector of i32.
  /// `pointer` points to global memory and is aligned to the size of the load.
  /// By default, a vector load.
  virtual Value createStreamingLoad(OpBuilder &builder, Location loc,
                                    Value pointer, int64_t words) const;
};

/// Returns the instructions of the backend of the module into which the builder
/// inserts. Returns the defaults if the module has no target, or if its target
/// is not a GPU.
const GpuInstructions &getGpuInstructions(OpBuilder &builder);

} // namespace mlir::ark

#endif // ARK_LIB_BACKEND_GPUINSTRUCTIONS_H
