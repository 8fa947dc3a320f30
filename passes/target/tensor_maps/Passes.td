//===- Passes.td - Passes for tensor maps -----------------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_TD
#define ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildTensorMapsPass : Pass<"ark-build-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "Build the tensor maps of a lane's tasks inside of the kernel";
  let description = [{
    `ark-use-tensor-cores` records in the bodies which operands are copied by TMA. This pass writes
    two tables. The first table holds the index of the first tensor map of every task. The second
    table holds, for every map, the buffer and the offset of its operand, its extents and its
    stride. Each lane builds its own maps when it begins (`CudaTensorMaps.mlir`), from the tables
    and the addresses of this launch. The host and the bundle hence need no tensor maps.

    ```mlir
    ark.kernel @k { ..., operands = dense<[[1, 0], [2, 0], [3, 0]]> : tensor<3x2xi64>,
                    task_table = dense<0> : tensor<1x2xi32> }
    func.func private @body(...) attributes {ark.tensor_maps = [array<i64: 0, 4096, 4096, 4096, 256>, ...]}
    // =>
    llvm.mlir.global internal constant @ark_tensor_map_firsts_table(dense<0> : tensor<1xi32>) {addr_space = 4}
    llvm.mlir.global internal constant @ark_tensor_map_records_table(
        dense<[1, 0, 4096, 4096, 8192, 256, ...]> : tensor<12xi64>) {addr_space = 1}
    llvm.mlir.global internal @ark_tensor_maps_memory(#llvm.zero)
        {addr_space = 1, alignment = 128} : !llvm.array<33792 x i8>
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numMaps", "maps", "Tensor maps per lane">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

#endif // ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_TD
