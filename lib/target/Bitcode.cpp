//===- Bitcode.cpp - Libraries of LLVM bitcode ----------------------------===//

#include "lib/target/Bitcode.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

llvm::Expected<llvm::SmallVector<char, 0>>
mlir::ark::setDataLayout(llvm::StringRef bitcode, llvm::StringRef layout) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile({bitcode, "library"}, context);
  if (!module)
    return module.takeError();
  auto parsed = llvm::DataLayout::parse(layout);
  if (!parsed)
    return parsed.takeError();
  (*module)->setDataLayout(*parsed);
  llvm::SmallVector<char, 0> result;
  llvm::raw_svector_ostream os(result);
  llvm::WriteBitcodeToFile(**module, os);
  return result;
}
