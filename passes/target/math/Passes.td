//===- Passes.td - Passes that expand maths functions and narrow floats --*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_MATH_PASSES_TD
#define ARK_PASSES_TARGET_MATH_PASSES_TD

include "mlir/Pass/PassBase.td"

def RelaxReductionsPass : Pass<"ark-relax-reductions", "::mlir::func::FuncOp"> {
  let summary = "Allow reductions to reassociate sums and products";
  let description = [{
    The implementation chooses the order of a reduction, and LLVM vectorises a floating-point sum
    only if reassociation is allowed. NaN, infinities and signed zeros keep their meaning.

    ```mlir
    %2 = arith.mulf %in, %in : f32
    %3 = arith.addf %2, %out : f32
    // =>
    %2 = arith.mulf %in, %in fastmath<contract> : f32
    %3 = arith.addf %2, %out fastmath<reassoc,contract> : f32
    ```
  }];
  let statistics = [
    Statistic<"numRelaxed", "relaxed", "Reductions that may be reordered">,
  ];
}

def ExpandMathPass : Pass<"ark-expand-math", "::mlir::func::FuncOp"> {
  let summary = "Expand math functions to arithmetic that vectorises";
  let description = [{
    `exp`, `tanh`, `erf` and `log` on f32 become polynomials, accurate to two units in the last
    place; `tanh` to three units on targets that divide approximately. Other functions become calls
    of the maths library later. Without a maths library, `sin`, `cos` and `powf` are computed in
    f64. On targets with an instruction for powers of two, `exp` is lowered to that instruction.

    ```mlir
    %1 = math.exp %0 : f32
    // =>
    %t = math.fma %0, %log2e, %magic : f32
    ...
    %1 = arith.mulf %p, %scale : f32
    ```
  }];
  let options = [
    Option<"fma", "fma", "bool", /*default=*/"true",
           "Use fused multiply-add instructions">,
    Option<"library", "library", "bool", /*default=*/"true",
           "Leave the other functions to a maths library">,
    Option<"exp2", "exp2", "bool", /*default=*/"false",
           "Use an instruction for powers of two">,
    Option<"maximum", "maximum", "bool", /*default=*/"false",
           "Use instructions for the maximum and the minimum of two numbers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect",
  ];
}

def ExpandFloatsPass : Pass<"ark-expand-floats", "::mlir::func::FuncOp"> {
  let summary = "Expand conversions of narrow floats to integer arithmetic";
  let description = [{
    Expands conversions of bf16 and 8-bit floats, and with the option `expand-fp16` those of f16:
    between each other, f32 and integers, via f32. Rounds to nearest even. Overflow becomes
    infinity, or NaN in f8E4M3FN, which has no infinity. With the option `native-fp8`, instructions
    of NVIDIA GPUs widen 8-bit floats, two neighbours of a vector at once. The narrowing
    instructions round differently and are not used. A conversion of a single bit becomes a select
    between two constants, for every type of float.

    ```mlir
    %1 = arith.extf %0 : bf16 to f32
    // =>
    %b = arith.bitcast %0 : bf16 to i16
    %w = arith.extui %b : i16 to i32
    %s = arith.shli %w, %c16 : i32
    %1 = arith.bitcast %s : i32 to f32
    ```
  }];
  let options = [
    Option<"expandFp16", "expand-fp16", "bool", /*default=*/"false",
           "Expand conversions of f16, for processors without conversion instructions">,
    Option<"expandBf16Rounding", "expand-bf16-rounding", "bool", /*default=*/"true",
           "Expand roundings from f32 to bf16, for processors without such an instruction">,
    Option<"nativeFp8", "native-fp8", "bool", /*default=*/"false",
           "Widen 8-bit floats with instructions of NVIDIA GPUs from sm_89 on">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // ARK_PASSES_TARGET_MATH_PASSES_TD
