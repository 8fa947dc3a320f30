//===- VerifyKernel.cpp - What the target stage relies on -----------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYKERNELPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Checks one kernel; each step may rely on those before it.
class KernelVerifier {
public:
  KernelVerifier(KernelOp kernel, SymbolTable &symbols)
      : kernel(kernel), symbols(symbols) {}

  LogicalResult verify() {
    return failure(failed(verifyShapes()) || failed(verifyFunctions()) ||
                   failed(verifyTasks()) || failed(verifyInstructions()) ||
                   failed(verifyLanes()));
  }

private:
  LogicalResult verifyShape(StringRef name, ElementsAttr table, int64_t columns,
                            unsigned width);
  LogicalResult verifyShapes();
  LogicalResult verifyFunctions();
  LogicalResult verifyTasks();
  LogicalResult verifyInstructions();
  LogicalResult verifyLanes();

  /// The bounds of the first two fields of an instruction, and whether the
  /// third is one past the second.
  int64_t getNumVctas(int64_t task) {
    auto entry = cast<DictionaryAttr>(kernel.getTasks()[task]);
    auto vctas = entry.getAs<IntegerAttr>("vctas");
    return vctas ? vctas.getInt() : 0;
  }

  template <typename T>
  SmallVector<T> getValues(ElementsAttr table) {
    return llvm::to_vector(cast<DenseElementsAttr>(table).getValues<T>());
  }

  KernelOp kernel;
  SymbolTable &symbols;
  SmallVector<int64_t> bodyOperands;
};
} // namespace

LogicalResult KernelVerifier::verifyShape(StringRef name, ElementsAttr table,
                                          int64_t columns, unsigned width) {
  ShapedType type = table.getShapedType();
  if (isa<DenseElementsAttr>(table) && type.getRank() == 2 &&
      type.getDimSize(1) == columns && type.getElementType().isInteger(width))
    return success();
  return kernel.emitOpError("table '")
         << name << "' is " << type << ", not a dense tensor<?x" << columns
         << "xi" << width << ">";
}

LogicalResult KernelVerifier::verifyShapes() {
  if (failed(verifyShape("operands", kernel.getOperandsAttr(), 2, 64)) ||
      failed(verifyShape("task_table", kernel.getTaskTable(), 2, 32)) ||
      failed(verifyShape("instructions", kernel.getInstructions(), 4, 32)) ||
      failed(verifyShape("lanes", kernel.getLanes(), 3, 32)) ||
      failed(verifyShape("timeline", kernel.getTimeline(), 2, 64)))
    return failure();
  if (kernel.getTaskTable().getShapedType().getDimSize(0) !=
      static_cast<int64_t>(kernel.getTasks().size()))
    return kernel.emitOpError("has ")
           << kernel.getTasks().size() << " tasks and another number of rows "
           << "in 'task_table'";
  if (kernel.getTimeline().getShapedType().getDimSize(0) !=
      kernel.getInstructions().getShapedType().getDimSize(0))
    return kernel.emitOpError("has another number of rows in 'timeline' than "
                              "in 'instructions'");
  for (ArrayAttr list :
       {kernel.getBuffers(), kernel.getTasks(), kernel.getSemaphores()})
    if (!llvm::all_of(list, llvm::IsaPred<DictionaryAttr>))
      return kernel.emitOpError("describes buffers, tasks and semaphores by "
                                "dictionaries only");
  return success();
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
    if (!body || !count || body.isExternal() ||
        body.getNumArguments() != abi::kBodyOperands + count.getInt())
      return kernel.emitOpError("has no function for body ") << attr;
    bodyOperands.push_back(count.getInt());
  }
  return success();
}

LogicalResult KernelVerifier::verifyTasks() {
  SmallVector<int32_t> rows = getValues<int32_t>(kernel.getTaskTable());
  SmallVector<int64_t> operands = getValues<int64_t>(kernel.getOperandsAttr());
  int64_t numRows = operands.size() / 2;
  for (size_t task = 0; task < kernel.getTasks().size(); ++task) {
    int64_t body = rows[2 * task], first = rows[2 * task + 1];
    if (body < 0 || body >= static_cast<int64_t>(bodyOperands.size()))
      return kernel.emitOpError("task ") << task << " has no body " << body;
    if (first < 0 || first + bodyOperands[body] > numRows)
      return kernel.emitOpError("task ")
             << task << " has operands outside of the table";
  }
  int64_t slots = kernel.getBuffers().size() + 1;
  for (int64_t row = 0; row < numRows; ++row)
    if (operands[2 * row] < 0 || operands[2 * row] >= slots ||
        operands[2 * row + 1] < 0)
      return kernel.emitOpError("operand ")
             << row << " is outside of the " << slots << " buffers";
  return success();
}

LogicalResult KernelVerifier::verifyInstructions() {
  SmallVector<int32_t> rows = getValues<int32_t>(kernel.getInstructions());
  int64_t numTasks = kernel.getTasks().size();
  int64_t numSemaphores = kernel.getSemaphores().size();
  for (size_t row = 0; row < rows.size(); row += 4) {
    auto opcode = static_cast<abi::Opcode>(rows[row]);
    int64_t a = rows[row + 1], b = rows[row + 2], c = rows[row + 3];
    bool good = rows[row] >= 0 && rows[row] < abi::kNumOpcodes && a >= 0;
    if (good && (opcode == abi::Opcode::Run || opcode == abi::Opcode::Prefetch))
      good = a < numTasks && b >= 0 && b < c && c <= getNumVctas(a);
    else if (good)
      good = a < numSemaphores && c == 0 &&
             (opcode == abi::Opcode::Signal ? b == 0 : b > 0);
    if (!good)
      return kernel.emitOpError("instruction ")
             << row / 4 << " is not valid: [" << rows[row] << ", " << a << ", "
             << b << ", " << c << "]";
  }
  return success();
}

LogicalResult KernelVerifier::verifyLanes() {
  SmallVector<int32_t> rows = getValues<int32_t>(kernel.getLanes());
  int64_t next = 0;
  for (size_t row = 0; row < rows.size(); row += 3) {
    if (rows[row] < 0 || rows[row] >= static_cast<int64_t>(kernel.getSms()))
      return kernel.emitOpError("lane ") << row / 3 << " is on SM " << rows[row]
                                         << " of " << kernel.getSms();
    if (rows[row + 1] != next || rows[row + 2] < next)
      return kernel.emitOpError("lane ")
             << row / 3 << " does not begin where the lane before it ends";
    next = rows[row + 2];
  }
  if (next != kernel.getInstructions().getShapedType().getDimSize(0))
    return kernel.emitOpError("has instructions that belong to no lane");
  return success();
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
    WalkResult walk = module.walk([&](Operation *op) {
      if (!isa<ArkDialect>(op->getDialect()) || isa<KernelOp>(op))
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
