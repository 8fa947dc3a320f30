//===- VerifyKernel.cpp - Check the output of the kernel stage ------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/PacketOperands.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYKERNELPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Checks one kernel. Each step may rely on the steps before it and on the
/// verifier of the op.
class KernelVerifier {
public:
  KernelVerifier(KernelOp kernel, SymbolTable &symbols)
      : kernel(kernel), symbols(symbols) {}

  LogicalResult verify() {
    return failure(failed(verifyTimelineEntries()) ||
                   failed(verifyFunctions()) || failed(verifyTasks()) ||
                   failed(verifyInstructions()) || failed(verifyLanes()) ||
                   failed(verifyOperands()) || failed(verifyWorkItems()) ||
                   failed(verifyArrivals()) || failed(verifyTimeline()) ||
                   failed(verifyPackets()));
  }

private:
  LogicalResult verifyTimelineEntries();
  LogicalResult verifyFunctions();
  LogicalResult verifyTasks();
  LogicalResult verifyInstructions();
  bool isStop(int64_t slot);
  bool isSignalledByPackets(abi::Opcode opcode, int64_t semaphore,
                            int64_t arrivals, int64_t c);
  LogicalResult verifyLanes();
  LogicalResult verifyOperands();
  LogicalResult verifyOperandsOf(int64_t task, int64_t body,
                                 int64_t firstEntry);
  LogicalResult verifyWorkItems();
  LogicalResult verifyArrivals();
  LogicalResult verifyTimeline();
  LogicalResult verifyPackets();
  LogicalResult collectBufferSizes();

  /// Returns the number under a key of a description, or nothing.
  static std::optional<int64_t> getNumber(Attribute entry, StringRef key) {
    auto number = cast<DictionaryAttr>(entry).getAs<IntegerAttr>(key);
    return number ? std::optional(number.getInt()) : std::nullopt;
  }
  int64_t getNumVctas(int64_t task) {
    return getNumber(kernel.getTasks()[task], "vctas").value_or(0);
  }

  template <typename T>
  SmallVector<T> getValues(ElementsAttr table) {
    return llvm::to_vector(cast<DenseElementsAttr>(table).getValues<T>());
  }

  KernelOp kernel;
  SymbolTable &symbols;
  SmallVector<func::FuncOp> bodies;
  SmallVector<int64_t> bodyOperands;
  /// Bytes of every slot: the arena comes first, the packets last.
  SmallVector<int64_t> slotBytes;
};
} // namespace

LogicalResult KernelVerifier::verifyTimelineEntries() {
  int64_t times = kernel.getTimeline().getShapedType().getDimSize(0);
  int64_t instructions = kernel.getInstructions().getShapedType().getDimSize(0);
  if (times == instructions)
    return success();
  return kernel.emitOpError("has ") << times << " entries in 'timeline', but "
                                    << instructions << " in 'instructions'";
}

/// Returns true if `function` takes a range of vCTAs, the task and the record
/// of data errors before its operands, and has no results.
static bool isBody(func::FuncOp function, int64_t numOperands) {
  ArrayRef<Type> types = function.getArgumentTypes();
  if (numOperands < 0 || function.isExternal() ||
      function.getNumResults() != 0 ||
      static_cast<int64_t>(types.size()) != abi::kBodyOperands + numOperands)
    return false;
  Builder builder(function.getContext());
  return llvm::all_of(types.take_front(abi::kBodyStatus),
                      llvm::IsaPred<IndexType>) &&
         types[abi::kBodyStatus] ==
             MemRefType::get({abi::kStatusWords}, builder.getI64Type());
}

LogicalResult KernelVerifier::verifyFunctions() {
  auto entry = symbols.lookup<func::FuncOp>(kernel.getEntry());
  if (!entry || entry.isExternal())
    return kernel.emitOpError("has no entry function '@")
           << kernel.getEntry() << "'";
  for (Attribute attr : kernel.getBodies()) {
    auto dictionary = dyn_cast<DictionaryAttr>(attr);
    auto name =
        dictionary ? dictionary.getAs<FlatSymbolRefAttr>("function") : nullptr;
    auto count =
        dictionary ? dictionary.getAs<IntegerAttr>("operands") : nullptr;
    auto body = name ? symbols.lookup<func::FuncOp>(name.getAttr()) : nullptr;
    if (!body || !count || !isBody(body, count.getInt()))
      return kernel.emitOpError("has no function for body ") << attr;
    bodies.push_back(body);
    bodyOperands.push_back(count.getInt());
  }
  return success();
}

LogicalResult KernelVerifier::verifyTasks() {
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getTaskTable());
  SmallVector<int64_t> operands = getValues<int64_t>(kernel.getOperandsAttr());
  int64_t numEntries = operands.size() / 2;
  for (size_t task = 0; task < kernel.getTasks().size(); ++task) {
    int64_t body = fields[2 * task];
    std::optional<int64_t> named = getNumber(kernel.getTasks()[task], "body");
    if (named && *named != body)
      return kernel.emitOpError("task ") << task << " is described with body "
                                         << *named << " and runs body " << body;
    if (getNumVctas(task) < 0)
      return kernel.emitOpError("task ")
             << task << " has " << getNumVctas(task) << " vCTAs";
  }
  int64_t slots =
      kernel.getBuffers().size() + 1 + kernel.getPackets().has_value();
  for (int64_t entry = 0; entry < numEntries; ++entry)
    if (operands[2 * entry] < 0 || operands[2 * entry] >= slots ||
        operands[2 * entry + 1] < 0)
      return kernel.emitOpError("operand ")
             << entry << " is outside of the " << slots << " buffers";
  return success();
}

/// Returns true if a slot can end the launch: a state of one 32-bit word.
bool KernelVerifier::isStop(int64_t slot) {
  if (slot < 1 || slot > static_cast<int64_t>(kernel.getBuffers().size()))
    return false;
  auto buffer = cast<DictionaryAttr>(kernel.getBuffers()[slot - 1]);
  auto kind = buffer.getAs<StringAttr>("kind");
  return kind && kind == stringifyArgumentKind(ArgumentKind::State) &&
         getNumber(buffer, "bytes") == 4;
}

/// Returns true if field `c` of an instruction is valid for a semaphore of kind
/// `packet`. In a signal, it is 1. In a wait, it is the index of the first
/// entry in the operand table; every arrival has two entries, for its first and
/// its last packet.
bool KernelVerifier::isSignalledByPackets(abi::Opcode opcode, int64_t semaphore,
                                          int64_t arrivals, int64_t c) {
  auto entry = cast<DictionaryAttr>(kernel.getSemaphores()[semaphore]);
  auto handoff = entry.getAs<StringAttr>("handoff");
  if (!handoff || handoff != stringifyHandoffKind(HandoffKind::Packet))
    return false;
  if (opcode == abi::Opcode::Signal)
    return c == 1;
  SmallVector<int64_t> fields = getValues<int64_t>(kernel.getOperandsAttr());
  if (opcode != abi::Opcode::Wait || c < 0 ||
      2 * (c + 2 * arrivals) > static_cast<int64_t>(fields.size()))
    return false;
  for (int64_t operand = c; operand < c + 2 * arrivals; operand += 2) {
    int64_t first = fields[2 * operand + 1], last = fields[2 * operand + 3];
    if (fields[2 * operand] != 0 || fields[2 * operand + 2] != 0 ||
        first % 8 != 0 || last % 8 != 0 || first > last ||
        last + 8 > static_cast<int64_t>(kernel.getArena()))
      return false;
  }
  return true;
}

LogicalResult KernelVerifier::verifyInstructions() {
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getInstructions());
  int64_t numTasks = kernel.getTasks().size();
  int64_t numSemaphores = kernel.getSemaphores().size();
  for (size_t entry = 0; entry < fields.size(); entry += 4) {
    auto opcode = static_cast<abi::Opcode>(fields[entry]);
    int64_t a = fields[entry + 1], b = fields[entry + 2], c = fields[entry + 3];
    bool good =
        fields[entry] >= 0 && fields[entry] < abi::kNumOpcodes && a >= 0;
    if (good && (opcode == abi::Opcode::Run || opcode == abi::Opcode::Prefetch))
      good = a < numTasks && b >= 0 && b < c && c <= getNumVctas(a);
    else if (good && opcode == abi::Opcode::Stop)
      good = b == 0 && c == 0 && isStop(a);
    else if (good)
      good = a < numSemaphores &&
             (opcode == abi::Opcode::Signal ? b == 0 : b > 0) &&
             (c == 0 || isSignalledByPackets(opcode, a, b, c));
    if (!good)
      return kernel.emitOpError("instruction ")
             << entry / 4 << " is not valid: [" << fields[entry] << ", " << a
             << ", " << b << ", " << c << "]";
  }
  return success();
}

LogicalResult KernelVerifier::verifyLanes() {
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getLanes());
  int64_t next = 0;
  for (size_t entry = 0; entry < fields.size(); entry += 3) {
    if (fields[entry] < 0 ||
        fields[entry] >= static_cast<int64_t>(kernel.getSms()))
      return kernel.emitOpError("lane ")
             << entry / 3 << " is on SM " << fields[entry] << " of "
             << kernel.getSms();
    if (fields[entry + 1] != next || fields[entry + 2] < next)
      return kernel.emitOpError("lane ")
             << entry / 3 << " does not begin where the lane before it ends";
    next = fields[entry + 2];
  }
  if (next != kernel.getInstructions().getShapedType().getDimSize(0))
    return kernel.emitOpError("has instructions that belong to no lane");
  return success();
}

//===----------------------------------------------------------------------===//
// Consistency between tables
//===----------------------------------------------------------------------===//

LogicalResult KernelVerifier::collectBufferSizes() {
  slotBytes.push_back(kernel.getArena());
  for (auto [index, buffer] : llvm::enumerate(kernel.getBuffers())) {
    std::optional<int64_t> bytes = getNumber(buffer, "bytes");
    if (!bytes || *bytes < 0)
      return kernel.emitOpError("buffer ") << index << " has no size in bytes";
    slotBytes.push_back(*bytes);
  }
  if (std::optional<uint64_t> packets = kernel.getPackets())
    slotBytes.push_back(*packets);
  if (slotBytes.front() < 0)
    return kernel.emitOpError("has an arena of ")
           << slotBytes.front() << " bytes";
  return success();
}

/// Returns the bytes from the start of an operand to the end of its last
/// element, or nothing if `type` has no static layout at offset 0 or does not
/// fit into an address space.
static std::optional<int64_t> getOperandBytes(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!memref || !memref.hasStaticShape() ||
      failed(getStridesAndOffset(memref, strides, offset)) || offset != 0 ||
      llvm::any_of(strides, [](int64_t stride) { return stride < 0; }) ||
      !isAddressable(memref))
    return std::nullopt;
  if (memref.getNumElements() == 0)
    return 0;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(memref.getShape(), strides))
    last += (extent - 1) * stride;
  return (last + 1) * getElementBytes(memref.getElementType());
}

LogicalResult KernelVerifier::verifyOperandsOf(int64_t task, int64_t body,
                                               int64_t firstEntry) {
  auto table = cast<DenseElementsAttr>(kernel.getOperandsAttr());
  auto fields = table.getValues<int64_t>();
  auto types = bodies[body].getArgumentTypes().drop_front(abi::kBodyOperands);
  for (auto [index, type] : llvm::enumerate(types)) {
    int64_t entry = firstEntry + index;
    int64_t slot = fields[2 * entry], offset = fields[2 * entry + 1];
    std::optional<int64_t> bytes = getOperandBytes(type);
    if (!bytes)
      return kernel.emitOpError("body ")
             << bodies[body].getSymNameAttr() << " takes " << type
             << ", which is not a buffer of at most 2^47 bytes with a static "
                "layout at offset 0";
    if (offset > slotBytes[slot] || *bytes > slotBytes[slot] - offset)
      return kernel.emitOpError("operand ")
             << entry << " of task " << task << " takes " << *bytes
             << " bytes at offset " << offset << " of a buffer of "
             << slotBytes[slot];
  }
  return success();
}

LogicalResult KernelVerifier::verifyOperands() {
  if (failed(collectBufferSizes()))
    return failure();
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getTaskTable());
  for (size_t task = 0; task < kernel.getTasks().size(); ++task)
    if (failed(verifyOperandsOf(task, fields[2 * task], fields[2 * task + 1])))
      return failure();
  return success();
}

/// Checks that every vCTA of every task runs once: the sorted work items of a
/// task must cover the range from 0 to its number of vCTAs without gaps or
/// overlaps.
LogicalResult KernelVerifier::verifyWorkItems() {
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getInstructions());
  SmallVector<std::array<int64_t, 3>> workItems;
  for (size_t entry = 0; entry < fields.size(); entry += 4)
    if (static_cast<abi::Opcode>(fields[entry]) == abi::Opcode::Run)
      workItems.push_back(
          {fields[entry + 1], fields[entry + 2], fields[entry + 3]});
  llvm::sort(workItems);
  size_t position = 0;
  for (int64_t task = 0, end = kernel.getTasks().size(); task < end; ++task) {
    int64_t next = 0;
    for (; position < workItems.size() && workItems[position][0] == task;
         ++position) {
      int64_t begin = workItems[position][1];
      if (begin != next)
        return kernel.emitOpError("runs vCTA ")
               << std::min(begin, next) << " of task " << task
               << (begin < next ? " twice" : " never");
      next = workItems[position][2];
    }
    if (next != getNumVctas(task))
      return kernel.emitOpError("runs vCTA ")
             << next << " of task " << task << " never";
  }
  return success();
}

/// Checks that every wait states the number of arrivals that its semaphore
/// gets. A wait for fewer arrivals would let a later iteration pass too early.
/// A wait for more arrivals would never end.
LogicalResult KernelVerifier::verifyArrivals() {
  SmallVector<int32_t> fields = getValues<int32_t>(kernel.getInstructions());
  SmallVector<int64_t> arrivals(kernel.getSemaphores().size(), 0);
  auto isOneOf = [](int32_t opcode, abi::Opcode a, abi::Opcode b) {
    return static_cast<abi::Opcode>(opcode) == a ||
           static_cast<abi::Opcode>(opcode) == b;
  };
  for (size_t entry = 0; entry < fields.size(); entry += 4)
    if (isOneOf(fields[entry], abi::Opcode::Signal, abi::Opcode::Barrier))
      ++arrivals[fields[entry + 1]];
  for (size_t entry = 0; entry < fields.size(); entry += 4)
    if (isOneOf(fields[entry], abi::Opcode::Wait, abi::Opcode::Barrier) &&
        fields[entry + 2] != arrivals[fields[entry + 1]])
      return kernel.emitOpError("instruction ")
             << entry / 4 << " waits for " << fields[entry + 2]
             << " arrivals of semaphore " << fields[entry + 1]
             << ", which is signalled " << arrivals[fields[entry + 1]]
             << " times";
  for (auto [index, semaphore] : llvm::enumerate(kernel.getSemaphores())) {
    std::optional<int64_t> declared = getNumber(semaphore, "arrivals");
    if (declared && *declared != arrivals[index])
      return kernel.emitOpError("semaphore ")
             << index << " declares " << *declared
             << " arrivals and is signalled " << arrivals[index] << " times";
  }
  return success();
}

LogicalResult KernelVerifier::verifyTimeline() {
  auto times = getValues<int64_t>(kernel.getTimeline());
  for (size_t index = 0; index < times.size(); ++index)
    if (times[index] < 0)
      return kernel.emitOpError("instruction ")
             << index / 2 << " has a negative time";
  return success();
}

/// Checks the attribute of arguments by which later stages recognise packets.
LogicalResult KernelVerifier::verifyPackets() {
  FailureOr<SmallVector<llvm::BitVector>> packets = findPacketOperands(kernel);
  if (failed(packets))
    return failure();
  SmallVector<FunctionOpInterface> functions(bodies.begin(), bodies.end());
  return verifyPacketArguments(kernel, *packets, functions);
}

namespace {
struct VerifyKernelPass : ark::impl::VerifyKernelPassBase<VerifyKernelPass> {
  using VerifyKernelPassBase::VerifyKernelPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  LogicalResult verify(ModuleOp module) {
    SymbolTable symbols(module);
    SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
    if (kernels.size() > 1)
      return kernels[1].emitOpError("is the second kernel of its module");
    // Visits parents first, so that the error names a whole program instead of
    // the last op in it.
    WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      // These ops remain for the target stage, because packets and the
      // lowerings of body ops depend on the machine.
      if (!isa<ArkDialect>(op->getDialect()) ||
          isa<BodyOpInterface, KernelOp, EpochOp, ReceivePacketsOp,
              StoreIndexOp>(op))
        return WalkResult::advance();
      if (isa_and_nonnull<BodyOpInterface>(op->getParentOp()))
        return WalkResult::advance();
      op->emitOpError("does not belong to the output of the kernel stage");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
    for (KernelOp kernel : kernels)
      if (failed(KernelVerifier(kernel, symbols).verify()))
        return failure();
    return success();
  }
};
} // namespace
