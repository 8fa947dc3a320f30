//===- Passes.td - Passes that fuse row-wise ops -----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_PASSES_TD
#define ARK_PASSES_TARGET_ROWWISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandNormsPass : Pass<"ark-expand-norms", "::mlir::ModuleOp"> {
  let summary = "Expand norms to structured ops";
  let description = [{
    Replaces `ark.row_norm` by structured ops on its buffers: the sum of squares of each row, the scale,
    and the result. A layer norm first has the sum and the mean of each row. Each op that reads a row
    has a copy of the prologue.

    ```mlir
    ark.row_norm ins(%x, %w : ...) outs(%y, %scale : ...) eps = 1.0e-5 maps [...]
        prologue { ... arith.extf %x ... } epilogue { ... arith.mulf %normalised, %w ... }
    // =>
    linalg.fill ins(%zero : f32) outs(%scale : memref<4xf32>)
    linalg.generic ... ins(%x : memref<4x64xbf16>) outs(%scale : memref<4xf32>) { ... arith.mulf ... }
    linalg.generic ... outs(%scale : memref<4xf32>) { ... math.rsqrt ... }
    linalg.generic ... ins(%x, %scale, %w : ...) outs(%y : memref<4x64xbf16>) { ... arith.mulf ... }
    ```
  }];
  let statistics = [
    Statistic<"numNorms", "norms", "Norms expanded">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
  ];
}

def FuseRowBodiesPass : Pass<"ark-fuse-row-bodies", "::mlir::ModuleOp"> {
  let summary = "Compute the rows of a vCTA from registers";
  let description = [{
    Each op of a layer norm, of a softmax, or of the derivative of a norm reads the rows again. If
    the ops of a vCTA compute nothing but the rows of one buffer, with two or more reductions, this
    pass lets one or more warps compute each row. A thread loads its elements of the rows once, with
    all loads in flight, and keeps them in registers from the first reduction to the store.
    Reductions over a whole row go through shared memory, with one barrier.

    The pass skips bodies with more rows than warps, or with a number of rows that is known at run
    time only. It skips rows whose length is not a multiple of a warp's load, and rows that do not
    fit into the registers of their warps.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      linalg.generic ... ins(%g, %w : memref<4x768xbf16, ...>, memref<768xbf16>) outs(%sum : memref<4xf32>)
      linalg.generic ... outs(%sum : memref<4xf32>)
      linalg.generic ... ins(%g, %w, %x, %scale : ...) outs(%projection : memref<4xf32>)
      linalg.generic ... ins(%g, %w, %x, %scale, %sum, %projection : ...) outs(%y : memref<4x768xbf16, ...>)
    }
    // =>
    scf.for %v = %begin to %end step %c1 {
      scf.forall (%thread) in (512) {
        ... vector.load %g[%warp / 3, ...] ... vector.load %x[%warp / 3, ...] ... gpu.shuffle xor ...
        vector.store %elements, %y[%warp / 3, ...]
      } {mapping = [#gpu.thread<linear_dim_0>]}
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps compute">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def FuseRowOpsPass : Pass<"ark-fuse-row-ops", "::mlir::ModuleOp"> {
  let summary = "Fuse consecutive ops on a row, with one warp per row";
  let description = [{
    A norm that feeds other ops, such as the norms of query and key heads before their rotation and
    attention, lowers to one loop per op with barriers between the loops. If consecutive ops of a
    vCTA access only their own row, and at least one op reduces the row, this pass lets one warp
    compute all ops for a row. With warps of 32 threads, thread `i` of the warp computes the columns
    `i`, `i + 32`, and so on. All loads come first. Intermediate values stay in registers unless
    other ops read them. If an op reads other columns of its row, the warp recomputes the values of
    these columns.

    The pass skips chains with more rows than warps, chains with rows of more than eight columns
    per thread, and blocks that consist of chains only.

    ```mlir
    linalg.generic ... ins(%x : memref<2x128xbf16, ...>) outs(%sum : memref<2xf32>)
    linalg.generic ... outs(%sum : memref<2xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%norm : memref<2x128xbf16>)
    linalg.generic ... ins(%left_of_norm, %right_of_norm, %cos, %sin : ...) outs(%left : memref<2x64xbf16, ...>)
    linalg.generic ... ins(%right_of_norm, %left_of_norm, %cos, %sin : ...) outs(%right : memref<2x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      ... memref.load %x ... memref.load %g ... gpu.shuffle xor ... math.rsqrt ...
      memref.store ..., %left[%row, %column] ... memref.store ..., %right[%row, %column]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps compute">,
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
  let summary = "Fuse ops that compute the rows shared by all vCTAs of a work item, one or more warps per row";
  let description = [{
    Each op before the loop over vCTAs ends in a barrier, and each op of a norm loads the rows
    again. If such ops compute rows, `memref<MxK>`, from the body's arguments, this pass lets one or
    more warps compute each row with all loads in flight at once (prologue fusion). Each warp
    reduces and writes a share of the row. Reductions over a whole row go through shared memory,
    with one barrier. If rows arrive as LL packets, and no other op reads them, each thread
    receives the elements that it computes, after it has issued all other loads. One poll covers
    all such rows, up to twelve loads of a thread.

    Rows between the ops, such as the sum of all ranks' parts of a product and the residual, stay in
    registers if no other op reads them. A norm of such a sum then takes one hand-off: each reader of
    the parts adds them itself, in the order of ranks.

    The pass skips buffers with more rows than warps, rows whose length is not a multiple of a
    warp's load, and rows that do not fit into the registers of their warps.

    ```mlir
    linalg.generic ... ins(%x : memref<8x2048xbf16>) outs(%sum : memref<8xf32>)
    linalg.generic ... outs(%sum : memref<8xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%row : memref<8x2048xbf16>)
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    // =>
    scf.forall (%thread) in (512) {
      ... vector.load %x[%warp / 2, ...] ... gpu.shuffle xor ...
      memref.store %partial_sum, %sums[%warp]
      gpu.barrier
      ... memref.load %sums[...] ... gpu.shuffle xor ...
      vector.store %elements, %row[%warp / 2, ...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps compute">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // ARK_PASSES_TARGET_ROWWISE_PASSES_TD
