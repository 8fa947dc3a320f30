//===- KernelAbi.h - Interface of kernel and runtime ------------*- C++ -*-===//
//
// Names and numbers that passes share with kernel texts and with the host
// (docs/bundle.md). KernelAbi.def lists the numbers.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_KERNEL_KERNELABI_H
#define ARK_PASSES_KERNEL_KERNELABI_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir::ark::abi {

/// Name of the entry function of every kernel.
inline constexpr llvm::StringLiteral kEntry = "ark_kernel";
/// Function that executes a work item: it selects the body of the task.
inline constexpr llvm::StringLiteral kRun = "ark_execute_work_item";
/// The optional function of a resident kernel, which calls the dispatch loop
/// once, or once per ring of a doorbell.
inline constexpr llvm::StringLiteral kResident = "ark_resident_loop";
/// Functions that read an entry of a table, in kernels for GPUs: an instruction
/// of a lane, the body and first operand of a task, and the address of an
/// operand.
inline constexpr llvm::StringLiteral kInstructionFunction = "ark_instruction";
inline constexpr llvm::StringLiteral kTaskFunction = "ark_task";
inline constexpr llvm::StringLiteral kOperandFunction = "ark_operand";
/// Function that starts a copy by a network adapter if its destination is in
/// another domain. Defined only by texts for several domains.
inline constexpr llvm::StringLiteral kCopyToDomainFunction =
    "ark_copy_to_domain";
/// Function that returns its argument, an address, marked as global memory.
/// Defined only by the texts of backends that have special instructions for
/// global memory.
inline constexpr llvm::StringLiteral kMarkGlobalFunction = "ark_mark_global";
/// Function that records an index out of range.
inline constexpr llvm::StringLiteral kReportIndex = "ark_report_index";
/// Function that returns the epoch.
inline constexpr llvm::StringLiteral kEpochFunction = "ark_epoch";

enum class Opcode : int32_t {
#define ARK_OPCODE(name, value) name = value,
#include "passes/kernel/KernelAbi.def"
};
inline constexpr int32_t kNumOpcodes = static_cast<int32_t>(Opcode::Stop) + 1;

/// Fields of ArkContext, counted in 64-bit words.
enum ContextField : int32_t {
#define ARK_CONTEXT_FIELD(name, value) name = value,
#include "passes/kernel/KernelAbi.def"
};

#define ARK_CONSTANT(name, value) inline constexpr int64_t name = value;
#include "passes/kernel/KernelAbi.def"

static_assert(kBuffers == 0 && kReportAbort == 0 && kStatusCode == 0 &&
                  kDoorbellRings == 0 && kInstructionOpcode == 0 &&
                  kLaneSm == 0 && kOperandSlot == 0 && kTensorMapSlot == 0 &&
                  kStreamLaneWaits == 0 && kSegmentAddress == 0 &&
                  kSegmentRecordSlot == 0 && kPortsTriggers == 0 &&
                  kTokenAddress == 0,
              "kernel texts load the first word of a record without an offset");

/// Leading arguments of a body: begin, end, task, status.
inline constexpr unsigned kBodyBegin = 0;
inline constexpr unsigned kBodyEnd = 1;
inline constexpr unsigned kBodyTask = 2;
inline constexpr unsigned kBodyStatus = 3;
inline constexpr unsigned kBodyOperands = 4;
/// Alignment of buffers that bodies for GPUs may assume; it permits their
/// widest loads. Bodies for a CPU assume only the alignment of an element, so
/// that the host's arrays are bound without a copy.
inline constexpr int64_t kGpuBufferAlignment = 16;

} // namespace mlir::ark::abi

#endif // ARK_PASSES_KERNEL_KERNELABI_H
