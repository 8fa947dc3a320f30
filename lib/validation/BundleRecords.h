//===- BundleRecords.h - A decoded bundle -----------------------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_BUNDLERECORDS_H
#define ARK_LIB_VALIDATION_BUNDLERECORDS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark::validation {

enum class Access { Read, Write, Update };

/// The accesses of all vCTAs of a task through one operand.
struct OperandRecord {
  Access access = Access::Read;
  Type element;
  int64_t elementBytes = 1;
  /// Bytes from the first byte of the value to element 0, and the alignment of
  /// element 0.
  int64_t begin = 0, alignment = 1;
  SmallVector<int64_t> shape, strides;
  /// For every dimension, the first element of a vCTA as a function of its grid
  /// indices, and the number of elements.
  SmallVector<AffineExpr> offsets;
  SmallVector<int64_t> sizes;

  /// Returns the bytes from element 0 to the end of the last element.
  int64_t getSpan() const;
};

using FootprintRecord = std::vector<OperandRecord>;

struct BodyRecord {
  std::string name;
  SmallVector<FootprintRecord> footprints;
  /// True if the body puts rank packets, which carry the epoch.
  bool stamps = false;
};

struct TaskRecord {
  std::string name, location;
  int64_t body = 0, footprint = 0, vctas = 0;
  SmallVector<int64_t> grid;
  /// For every operand, the index of its value in `Manifest::values`.
  SmallVector<int64_t> values;
};

struct BufferRecord {
  std::string name;
  ArgumentKind kind = ArgumentKind::Input;
  Type element;
  SmallVector<int64_t> shape;
  int64_t bytes = 0;
  /// True for the state that ends the launch.
  bool stop = false;
};

struct SemaphoreRecord {
  std::string name;
  int64_t arrivals = 0;
  HandoffKind handoff = HandoffKind::Counter;
};

/// The bytes of a slot that hold one value.
struct ValueRecord {
  int64_t slot = 0, offset = 0, bytes = 0;
};

struct Manifest {
  std::string program;
  std::string backend = kCpuBackend.str();
  int64_t sms = 0, warps = 0, arena = 0, packets = 0, ranks = 1;
  /// The NVLink domain of each rank; empty if all ranks are in one domain.
  std::vector<int64_t> domains;
  std::vector<BufferRecord> buffers;
  std::vector<BodyRecord> bodies;
  std::vector<TaskRecord> tasks;
  std::vector<SemaphoreRecord> semaphores;
  /// Values of buffers, then values of intermediates.
  std::vector<ValueRecord> values;

  /// Returns the bytes of every slot: the arena, the buffers, and the packets
  /// if there are any.
  SmallVector<int64_t> getSlotBytes() const;
  /// Returns the slot of packets between tasks, or -1 without packets.
  int64_t getPacketSlot() const { return packets ? buffers.size() + 1 : -1; }
  const FootprintRecord &getFootprint(const TaskRecord &task) const {
    return bodies[task.body].footprints[task.footprint];
  }
};

/// docs/bundle.md defines the numbers of the opcodes.
enum class Opcode : int32_t { Run, Signal, Wait, Barrier, Prefetch, Stop };
inline constexpr int32_t kLastOpcode = static_cast<int32_t>(Opcode::Stop);

struct Instruction {
  Opcode opcode = Opcode::Run;
  int64_t a = 0, b = 0, c = 0;
};

struct LaneRecord {
  int64_t sm = 0, first = 0, end = 0;
};

struct OperandEntry {
  int64_t slot = 0, offset = 0;
};

struct Tables {
  std::vector<Instruction> instructions;
  std::vector<LaneRecord> lanes;
  /// For every task, its body and its first entry in `operands`.
  std::vector<std::pair<int64_t, int64_t>> tasks;
  std::vector<OperandEntry> operands;
};

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_BUNDLERECORDS_H
