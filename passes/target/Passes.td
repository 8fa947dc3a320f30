//===- Passes.td - Passes of the target stage --------------*- tablegen -*-===//
//
// In the order in which the stage runs them.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_PASSES_TD
#define ARK_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def ArkVectorizeContractionsPass
    : Pass<"ark-vectorize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions on buffers become register-blocked vector loops";
  let description = [{
    Rewrites `linalg` contractions with an f32 result (inputs f32, f16 or bf16)
    whose result is contiguous in one of its parallel dimensions, `n`:

    - many rows: a block of rows by two vectors of columns stays in registers
      while `k` runs. Where the right operand is contiguous in `k` instead of
      `n` (a weight stored `[out, in]`), a panel of it is transposed first, once
      for all rows of the tile;
    - few rows, both operands contiguous in `k`: dot products, which read the
      right operand once and need no panel.

    Other contractions stay as they are and become loops later.

    ```mlir
    linalg.matmul ins(%a, %b : memref<64x384xf32>, memref<384x128xf32>) outs(%c : memref<64x128xf32>)
    // becomes loops over columns, rows and k around vector.fma
    ```
  }];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", /*default=*/"16",
           "f32 lanes of one vector register: 16 for AVX-512, 8 for AVX2, 4 for SSE and NEON">,
  ];
  let statistics = [
    Statistic<"numBlocked", "blocked", "contractions lowered to register blocks">,
    Statistic<"numDots", "dots", "contractions lowered to dot products">,
    Statistic<"numLeft", "left", "contractions left to plain loops">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def SetLinkagePass : Pass<"ark-set-linkage", "::mlir::ModuleOp"> {
  let summary = "Keep all functions of a kernel but its entry inside of the object";
  let description = [{
    Functions with a body get internal linkage. Bodies of tasks are not inlined
    into the dispatch: each has a frame of its own, and profiles name it.

    ```mlir
    ark.kernel @mlp {bodies = [{function = @body_relu, ...}, ...], entry = @ark_kernel, ...}
    llvm.func @body_relu(...) { ... }
    // =>
    llvm.func internal @body_relu(...) attributes {no_inline} { ... }
    ```
  }];
}

#endif // ARK_PASSES_TARGET_PASSES_TD
