//===- Passes.td - Passes that fuse row-wise ops -----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_PASSES_TD
#define ARK_PASSES_TARGET_ROWWISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseRowOpsPass : Pass<"ark-fuse-row-ops", "::mlir::ModuleOp"> {
  let summary = "Fuse consecutive ops on a row, with a warp for each row";
  let description = [{
    A norm that feeds other ops, such as the norms of query and key heads before their rotation and
    attention, is several loops with a barrier between each two of them. If consecutive ops of a
    vCTA read nothing but their own row, and at least one of them reduces the row, one warp computes
    all of them for a row. Lane `i` has the columns `i`, `i + 32`, and so on. All loads come first.
    Intermediate values stay in registers unless other ops read them. If an op reads other columns
    of its row, the warp computes the values of these columns once more.

    The pass leaves chains with more rows than warps, chains with rows of more than 256 columns, and
    blocks in which chains would be all ops.

    ```mlir
    linalg.generic ... ins(%x : memref<2x128xbf16, ...>) outs(%sum : memref<2xf32>)
    linalg.generic ... outs(%sum : memref<2xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%norm : memref<2x128xbf16>)
    linalg.generic ... ins(%left_of_norm, %right_of_norm, %cos, %sin : ...) outs(%left : memref<2x64xbf16, ...>)
    linalg.generic ... ins(%right_of_norm, %left_of_norm, %cos, %sin : ...) outs(%right : memref<2x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      ... memref.load %x ... memref.load %g ... gpu.shuffle xor ... math.rsqrt ...
      memref.store ..., %left[%row, %lane] ... memref.store ..., %right[%row, %lane]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps make">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def FuseRowProloguesPass : Pass<"ark-fuse-row-prologues", "::mlir::ModuleOp"> {
  let summary = "Fuse the ops that make rows for all vCTAs of a run, with warps for each row";
  let description = [{
    Each op before the loop over vCTAs ends in a barrier, and each op of a norm loads the rows
    again. If such ops make rows, `memref<MxK>`, of the body's arguments, one or several warps make
    each row instead, with all loads at once (prologue fusion). Each warp reduces and writes its
    part of the row. Reductions over a whole row go through shared memory, with one barrier. If rows
    arrive as LL packets, and nothing else reads them, each thread receives its own part, after it
    has issued all other loads.

    The pass leaves more rows than there are warps, rows whose length is no multiple of what the
    threads of a warp load at once, and rows that are longer than the registers of their threads
    hold.

    ```mlir
    linalg.generic ... ins(%x : memref<8x2048xbf16>) outs(%sum : memref<8xf32>)
    linalg.generic ... outs(%sum : memref<8xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%row : memref<8x2048xbf16>)
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    // =>
    scf.forall (%thread) in (512) {
      ... vector.load %x[%warp / 2, ...] ... gpu.shuffle xor ...
      memref.store %part_of_sum, %sums[%warp]
      gpu.barrier
      ... memref.load %sums[...] ... gpu.shuffle xor ...
      vector.store %part, %row[%warp / 2, ...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps make">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // ARK_PASSES_TARGET_ROWWISE_PASSES_TD
