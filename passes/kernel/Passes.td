//===- Passes.td - Passes of the kernel stage --------------*- tablegen -*-===//
//
// Passes in the order in which the stage runs them.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_KERNEL_PASSES_TD
#define ARK_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineBodiesPass : Pass<"ark-outline-bodies", "::mlir::ModuleOp"> {
  let summary = "Outline every task's body into a function that runs a range of its vCTAs";
  let description = [{
    The function takes the range of vCTAs, the index of the task and the record of data errors, then
    one memref at offset 0 for every operand of the task. The address of an operand hence comes from
    the tables at run time. The function computes the grid indices from the index of the vCTA, and
    turns every region into a `memref.subview`, clipped to the operand. The task keeps its body, and
    names the function in its attribute `ark.body`.

    An operand is marked `llvm.noalias` if the task writes its bytes through no other operand and,
    in the case of an out, reads them through no other operand.
    Temporaries are hoisted out of the loop over vCTAs.

    ```mlir
    ark.task "relu" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
        outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["relu"]} {
    ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, ...):
      ...
    }
    // =>
    func.func private @body_relu(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
                            %x: memref<32xf32> {llvm.noalias}, %y: memref<32xf32> {llvm.noalias}) {
      scf.for %i = %begin to %end step %c1 {
        %offset = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
        %a = memref.subview %x[%offset] [16] [1]
            : memref<32xf32> to memref<16xf32, strided<[1], offset: ?>>
        ...
      }
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
  let statistics = [
    Statistic<"numBodies", "bodies", "Functions created, one per task">,
  ];
}

def DeduplicateBodiesPass : Pass<"ark-deduplicate-bodies", "::mlir::ModuleOp"> {
  let summary = "Share one function between tasks with equal bodies";
  let description = [{
    Bodies are equal if they differ only in locations and in the names of functions and values. This
    pass makes the size of the kernel independent of the number of layers.

    ```mlir
    ark.task "layer0.fc" ... attributes {ark.body = @body_matmul}
    ark.task "layer1.fc" ... attributes {ark.body = @body_matmul_0}
    // =>
    ark.task "layer0.fc" ... attributes {ark.body = @body_matmul}
    ark.task "layer1.fc" ... attributes {ark.body = @body_matmul}
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Functions erased because an equal one exists">,
    Statistic<"numKept", "kept", "Functions kept">,
  ];
}

def BuildTablesPass : Pass<"ark-build-tables", "::mlir::ModuleOp"> {
  let summary = "Turn program and schedule into the tables of an ark.kernel";
  let description = [{
    Everything that depends on the program becomes data: an operand of a task becomes a slot of the
    buffer table and a byte offset, and an instruction of a lane becomes four integers (see
    docs/bundle.md). The pass expects the functions of `ark-outline-bodies` and erases the program.

    ```mlir
    ark.schedule "list" sms = 1 {
      ark.semaphore @end arrivals = 1
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "relu" [0, 2]
        ark.barrier @end
      }
    }
    // =>
    ark.kernel @mlp {instructions = dense<[[0, 0, 0, 2], [3, 0, 1, 0]]> : tensor<2x4xi32>,
                     lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>, ...}
    ```
  }];
  let statistics = [
    Statistic<"numInstructions", "instructions", "Entries of the instruction table">,
    Statistic<"numOperands", "operands", "Entries of the operand table">,
  ];
}

def BuildKernelPass : Pass<"ark-build-kernel", "::mlir::ModuleOp"> {
  let summary = "Build the kernel's entry: the dispatch loop over the instructions of a lane";
  let description = [{
    Adds the entry of the `ark.kernel` and the functions that it calls. The dispatch loop is the
    same for every program (CpuKernel.mlir, or GpuKernel.mlir with the primitives of the backend).
    `@ark_execute_work_item` is built for the program: it selects the body of a task by the index of
    the body, and makes the operands of the body from the tables.

    ```mlir
    func.func private @ark_execute_work_item(%context: !llvm.ptr, %task: i64, %begin: i64,
                                             %end: i64) {
      ...
      cf.switch %body : i32, [default: ^end, 0: ^matmul, 1: ^relu]
    ^matmul:
      ...
      func.call @body_matmul(...)
    ```
  }];
  let options = [
    Option<"trace", "trace", "bool", /*default=*/"false",
           "Record begin and end of every instruction if the context has a trace buffer">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def LowerCheckIndexPass : Pass<"ark-lower-check-index", "::mlir::ModuleOp"> {
  let summary = "Lower ark.check_index to a comparison and a report";
  let description = [{
    Replaces an index outside of `[0, bound)` by 0. The first index out of range in a run is
    recorded in the body's `%status` together with the index of the task, whose upper half names the
    sequence of the index, if there is one. An index with `stores` becomes an `ark.store_index`, since
    a store at index 0 would overwrite an element that the op does not own.

    ```mlir
    %valid = ark.check_index %index below %bound
    // =>
    %inside = arith.cmpi ult, %index, %bound : index
    %valid = arith.select %inside, %index, %zero : index
    scf.if %outside {
      func.call @ark_report_index(%status, %index, %bound, %task)
          : (memref<4xi64>, index, index, index) -> ()
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
  let statistics = [
    Statistic<"numChecks", "checks", "Checked indices">,
  ];
}

def LowerEpochPass : Pass<"ark-lower-epoch", "::mlir::ModuleOp"> {
  let summary = "Lower ark.epoch to a read of the iteration number";
  let description = [{
    On `cpu`, the number of the iteration is stored after the body's `%status`. On a GPU, a counter
    signals rank packets, and their epoch is a constant. In kernels with task packets,
    `ark-send-packets` lowers `ark.epoch` instead.

    ```mlir
    %epoch = ark.epoch : i32
    // =>
    %epoch = func.call @ark_epoch(%status) : (memref<4xi64>) -> i32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
  ];
}

def VerifyKernelPass : Pass<"ark-verify-kernel", "::mlir::ModuleOp"> {
  let summary = "Check that the output of the kernel stage is complete";
  let description = [{
    Requires one `ark.kernel` with its entry and bodies, tables of the right shape with entries in
    range, lanes that partition the instructions, and no other ark op. Together the tables must
    satisfy docs/bundle.md: an operand ends inside of its buffer, every vCTA is run exactly once,
    and the arrivals that a wait names equal the signals of its semaphore. Arguments of bodies carry
    `ark.packets` if the tables say that they are packets. Changes nothing.
  }];
}

#endif // ARK_PASSES_KERNEL_PASSES_TD
