//===- KernelAbi.h - Interface of kernel and runtime ------------*- C++ -*-===//
//
// The numbers of docs/bundle.md that passes need. CpuKernel.mlir contains the
// same numbers as literals.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_KERNEL_KERNELABI_H
#define ARK_PASSES_KERNEL_KERNELABI_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir::ark::abi {

/// Name of the entry function of every kernel.
inline constexpr llvm::StringLiteral kEntry = "ark_kernel";
/// Function that dispatches a task to its body; the entry calls it.
inline constexpr llvm::StringLiteral kRun = "ark_run";
/// Functions that read a row of a table, in kernels for GPUs: an instruction of
/// a lane, the body and first operand of a task, and the address of an operand.
inline constexpr llvm::StringLiteral kInstructionFunction = "ark_instruction";
inline constexpr llvm::StringLiteral kTaskFunction = "ark_task";
inline constexpr llvm::StringLiteral kOperandFunction = "ark_operand";
/// Function that records an index out of range.
inline constexpr llvm::StringLiteral kReportIndex = "ark_report_index";
/// Function that returns the number of the iteration.
inline constexpr llvm::StringLiteral kEpochFunction = "ark_epoch";
/// Attribute of an outlined task: the symbol of its body's function.
inline constexpr llvm::StringLiteral kBodyAttr = "body";
/// Attribute of a body for GPUs: vCTAs per run if all SMs get equal shares.
inline constexpr llvm::StringLiteral kRunAttr = "run";

enum class Opcode : int32_t {
  Run = 0,
  Signal = 1,
  Wait = 2,
  Barrier = 3,
  Prefetch = 4,
  Stop = 5,
};
inline constexpr int32_t kNumOpcodes = 6;

/// Fields of ArkContext, counted in 64-bit words.
enum ContextField : int32_t {
  kBuffers = 0,
  kInstructions = 1,
  kLanes = 2,
  kTasks = 3,
  kOperands = 4,
  kSemaphores = 5,
  kReport = 6,
  kEpoch = 7,
  kIterations = 8,
  kTimeout = 9,
  kTrace = 10,
  kStatus = 11,
  kCodes = 12,
  kDoorbell = 13,
};
inline constexpr int64_t kContextWords = kDoorbell + 1;

/// Leading arguments of a body: begin, end, task, status.
inline constexpr unsigned kBodyBegin = 0;
inline constexpr unsigned kBodyEnd = 1;
inline constexpr unsigned kBodyTask = 2;
inline constexpr unsigned kBodyStatus = 3;
inline constexpr unsigned kBodyOperands = 4;
/// 64-bit words of the record of data errors.
inline constexpr int64_t kStatusWords = 4;

/// Alignment of buffers that bodies for GPUs may assume; it permits their
/// widest loads. Bodies for a CPU assume only the alignment of an element, so
/// that the host's arrays are bound without a copy.
inline constexpr int64_t kGpuBufferAlignment = 16;

} // namespace mlir::ark::abi

#endif // ARK_PASSES_KERNEL_KERNELABI_H
