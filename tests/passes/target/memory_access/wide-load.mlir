// A wide load fetches elements that neighbouring values of a loop variable load, at most 16 bytes.
// `ark-unroll-and-jam` uses wide loads for the columns of the right operand.
// DEFINE: %{type} = f16
// DEFINE: %{align} = 16
// DEFINE: %{layout} =
// DEFINE: %{row} = k
// DEFINE: %{column} = j
// DEFINE: %{load} = sed -e 's/TYPE/%{type}/g' -e 's/ALIGN/%{align}/' -e 's/LAYOUT/%{layout}/g' -e 's/ROW/%{row}/' -e 's/COLUMN/%{column}/' %s | ark-opt --ark-unroll-and-jam --canonicalize

// RUN: %{load} | FileCheck %s --check-prefix=HALF
// HALF: vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf16>, vector<8xf16>
// REDEFINE: %{type} = f32
// RUN: %{load} | FileCheck %s --check-prefix=FLOAT
// FLOAT: vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf32>, vector<4xf32>
// REDEFINE: %{type} = f64
// RUN: %{load} | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf64>, vector<2xf64>

// Rows whose stride is not a multiple of 16 bytes are not aligned, nor are buffers that begin at a multiple of 8.
// REDEFINE: %{type} = f16
// REDEFINE: %{layout} = , strided<[72, 1]>
// RUN: %{load} | FileCheck %s --check-prefix=STRIDE
// STRIDE: vector.load {{.*}} {alignment = 16 : i64} : memref<64x64xf16, strided<[72, 1]>>, vector<8xf16>
// REDEFINE: %{layout} = , strided<[68, 1]>
// RUN: %{load} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{layout} =
// REDEFINE: %{align} = 8
// RUN: %{load} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{align} = 16

// Elements of a column, elements of a buffer whose last stride is two, and elements of a diagonal are not neighbours.
// REDEFINE: %{row} = j
// REDEFINE: %{column} = k
// RUN: %{load} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{column} = j
// RUN: %{load} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{row} = k
// REDEFINE: %{layout} = , strided<[128, 2]>
// RUN: %{load} | FileCheck %s --check-prefix=NONE
// NONE-NOT: vector.load
// NONE: memref.load %{{.+}} : memref<64x64xf16

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<4x64xTYPE>, %w: memref<64x64xTYPELAYOUT> {llvm.align = ALIGN : i64}, %y: memref<4x64xTYPE>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %size = arith.constant 64 : index
  %zero = arith.constant 0.0 : TYPE
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %size) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%size) step (%c1) init (%zero) -> TYPE {
      %a = memref.load %x[%i, %k] : memref<4x64xTYPE>
      %b = memref.load %w[%ROW, %COLUMN] : memref<64x64xTYPELAYOUT>
      %product = arith.mulf %a, %b : TYPE
      scf.reduce(%product : TYPE) {
      ^bb0(%p: TYPE, %q: TYPE):
        %s = arith.addf %p, %q : TYPE
        scf.reduce.return %s : TYPE
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xTYPE>
    scf.reduce
  }
  return
}
