//===- BuildLineTable.cpp - Builds the debug-location table ---------------===//
//
// In PTX, an instruction has a file, a line and a column. Users know an op by
// its name, and one line of Python can create many ops. Every location hence
// gets a number, which LLVM treats as a line, and a table maps each number to
// the name of the op and the line of Python.
//
//===----------------------------------------------------------------------===//

#include "passes/target/module/Passes.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/BinaryFormat/Dwarf.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDLINETABLEPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// The pseudo file whose lines are numbers of locations.
static constexpr llvm::StringLiteral kPseudoFile = "ark-lines";

/// Returns the innermost op name of a location, or null.
static NameLoc findName(Location location) {
  NameLoc found;
  location->walk([&](Location loc) {
    found = dyn_cast<NameLoc>(loc);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

static FileLineColLoc findLine(Location location) {
  FileLineColLoc found;
  location->walk([&](Location loc) {
    found = dyn_cast<FileLineColLoc>(loc);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Returns the functions that bodies call. They get no line numbers: after
/// inlining, their code is attributed to the calling op.
static DenseSet<Operation *> findHelpers(gpu::GPUModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<Operation *> open;
  DenseSet<Operation *> helpers;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (findName(function.getLoc()))
      open.push_back(function);
  while (!open.empty())
    open.pop_back_val()->walk([&](LLVM::CallOp call) {
      Operation *callee =
          call.getCallee() ? symbols.lookup(*call.getCallee()) : nullptr;
      if (callee && helpers.insert(callee).second)
        open.push_back(callee);
    });
  return helpers;
}

namespace {
struct BuildLineTablePass
    : ark::impl::BuildLineTablePassBase<BuildLineTablePass> {
  using BuildLineTablePassBase::BuildLineTablePassBase;

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    numbers.clear();
    unit = makeUnit();
    DenseSet<Operation *> helpers = findHelpers(module);
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && !helpers.contains(function))
        mark(function);
    module->setAttr(kLineTableAttr, makeTable());
    numEntries += numbers.size();
  }

private:
  /// The key of an entry of the table: the name of an op or a function, and its
  /// source location.
  using LineKey = std::pair<StringAttr, Attribute>;

  ArrayAttr makeTable() {
    Builder builder(&getContext());
    SmallVector<Attribute> table;
    for (auto &[key, number] : numbers) {
      auto [name, location] = key;
      auto line = dyn_cast_or_null<FileLineColLoc>(location);
      table.push_back(builder.getArrayAttr(
          {name, line ? line.getFilename() : builder.getStringAttr(""),
           builder.getI64IntegerAttr(line ? line.getLine() : 0),
           builder.getI64IntegerAttr(line ? line.getColumn() : 0)}));
    }
    return builder.getArrayAttr(table);
  }

  LLVM::DICompileUnitAttr makeUnit() {
    MLIRContext *context = &getContext();
    file = LLVM::DIFileAttr::get(context, kPseudoFile, "");
    // Other emission kinds would disable optimisations of ptxas.
    return LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
        file, StringAttr::get(context, "ark"), /*isOptimized=*/true,
        LLVM::DIEmissionKind::DebugDirectivesOnly);
  }

  unsigned getNumber(LineKey key) {
    return numbers.insert({key, numbers.size() + 1}).first->second;
  }

  Location makeLine(unsigned number) {
    return FileLineColLoc::get(&getContext(), kPseudoFile, number, 0);
  }

  /// Numbers the ops of a body. All other code is attributed to the body's
  /// function.
  void mark(LLVM::LLVMFuncOp function) {
    unsigned whole =
        getNumber({function.getSymNameAttr(), findLine(function.getLoc())});
    bool isBody = bool(findName(function.getLoc()));
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      NameLoc name = isBody ? findName(op->getLoc()) : NameLoc();
      op->setLoc(makeLine(
          name ? getNumber({name.getName(), findLine(op->getLoc())}) : whole));
    });
    // LLVM also creates instructions for block arguments.
    function.walk([&](Block *block) {
      for (BlockArgument argument : block->getArguments())
        argument.setLoc(makeLine(whole));
    });
    MLIRContext *context = &getContext();
    auto type = LLVM::DISubroutineTypeAttr::get(context, {});
    auto scope = LLVM::DISubprogramAttr::get(
        context, DistinctAttr::create(UnitAttr::get(context)), unit, file,
        function.getSymNameAttr(), function.getSymNameAttr(), file,
        /*line=*/whole, /*scopeLine=*/whole,
        LLVM::DISubprogramFlags::Definition |
            LLVM::DISubprogramFlags::Optimized,
        type, /*retainedNodes=*/{}, /*annotations=*/{});
    function->setLoc(FusedLoc::get({makeLine(whole)}, scope, context));
  }

  llvm::MapVector<LineKey, unsigned> numbers;
  LLVM::DIFileAttr file;
  LLVM::DICompileUnitAttr unit;
};
} // namespace
