//===- Passes.td - Passes of the lowering for cpu ----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_CPU_PASSES_TD
#define ARK_PASSES_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def VectorizeContractionsPass
    : Pass<"ark-vectorize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Rewrite contractions on buffers as register-blocked vector loops";
  let description = [{
    Rewrites `linalg` contractions with an f32 result (inputs f32, f16 or bf16)
    whose result is contiguous in one of its parallel dimensions, `n`:

    - many rows: a block of rows by two vectors of columns stays in registers
      while `k` runs. If the right operand is contiguous in `k` instead of `n`
      (a weight stored `[out, in]`), each panel of the operand is transposed
      first, once for all rows of the tile;
    - few rows, both operands contiguous in `k`: dot products, which read the
      right operand once and need no panel;
    - left operand contiguous in `m`, right operand in `k`: blocks of the
      transposed result, which need no panel. Squares of the sums are transposed
      in registers and added to the result.

    Operands and results in other orders of their dimensions, such as
    column-major results, are transposed by `memref.transpose` first.

    Other contractions stay as they are and become loops later.

    ```mlir
    linalg.matmul ins(%a, %b : memref<64x384xf32>, memref<384x128xf32>) outs(%c : memref<64x128xf32>)
    // becomes loops over columns, rows and k around vector.fma
    ```
  }];
  let options = [
    Option<"vectorElements", "vector-elements", "int64_t", /*default=*/"16",
           "f32 elements of one vector register: 16 for AVX-512, 8 for AVX2, 4 for SSE and NEON">,
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

def InterchangeLoopsPass : Pass<"ark-interchange-loops", "::mlir::func::FuncOp"> {
  let summary = "Run the innermost loops of elementwise ops along contiguous elements";
  let description = [{
    Moves the loop along which the most operands are contiguous to the end, if more operands are
    contiguous along it than along the last loop. The epilogue of a product with a column-major
    result thus writes whole cache lines, and LLVM can vectorise its loop.

    ```mlir
    linalg.fill ins(%0 : f32) outs(%c : memref<64x32xf32, strided<[1, 64]>>)
    // =>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d1, d0)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%0 : f32) outs(%c : memref<64x32xf32, strided<[1, 64]>>) {...}
    ```
  }];
  let statistics = [
    Statistic<"numInterchanged", "interchanged", "Elementwise ops with interchanged loops">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def BitcastNarrowFloatsPass : Pass<"ark-bitcast-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Load and store 16-bit floats as integers";
  let description = [{
    On processors without bf16 instructions, LLVM loads and stores vectors of bf16 via f32 and calls
    a function of the compiler runtime library, which is not part of a kernel. Integers need no
    conversion.

    ```mlir
    %1 = llvm.load %0 : !llvm.ptr -> bf16
    // =>
    %b = llvm.load %0 : !llvm.ptr -> i16
    %1 = llvm.bitcast %b : i16 to bf16
    ```
  }];
  let statistics = [
    Statistic<"numMoved", "moved", "Loads and stores changed">,
  ];
}

def ReleasePacketsPass : Pass<"ark-release-packets", "::mlir::ModuleOp"> {
  let summary = "Store LL packets by atomic stores with release";
  let description = [{
    A reader that sees the epoch in a packet must also see the data of the packet, and all earlier
    writes of the sending lane. The store of the packet hence becomes atomic with release ordering.
    A body contains one such store, to the argument that carries `ark.packets`.

    ```mlir
    llvm.store %packet, %address : i64, !llvm.ptr
    // =>
    llvm.store %packet, %address atomic release {alignment = 8 : i64} : i64, !llvm.ptr
    ```
  }];
  let statistics = [
    Statistic<"numReleased", "released", "Stores changed">,
  ];
}

def SetLinkagePass : Pass<"ark-set-linkage", "::mlir::ModuleOp"> {
  let summary = "Give all functions of a kernel but its entry internal linkage";
  let description = [{
    Functions with a body get internal linkage. Bodies of tasks are not inlined into the dispatch
    loop, so that each has its own stack frame and its name in profiles. The entry and the bodies
    that the kernel names must exist.

    ```mlir
    ark.kernel @mlp {bodies = [{function = @body_relu, ...}, ...], entry = @ark_kernel, ...}
    llvm.func @body_relu(...) { ... }
    // =>
    llvm.func internal @body_relu(...) attributes {no_inline} { ... }
    ```
  }];
}

#endif // ARK_PASSES_TARGET_CPU_PASSES_TD
