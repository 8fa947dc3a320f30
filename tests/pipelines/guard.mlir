// ark-opt works in a child process. A crash of the child, or a hang of MLIR's reader, is one error
// that names the file.

// One error is the whole output.
// DEFINE: %{one} = --implicit-check-not='{{.}}'

// RUN: split-file %s %t
// RUN: cd %t

// The parser, with a file, a part of a file, and standard input.
// RUN: not ark-opt indices.mlir -o out.mlir 2>&1 | FileCheck indices.mlir -DFILE=indices.mlir %{one}
// RUN: not test -e out.mlir
// RUN: not ark-opt parts.mlir --split-input-file 2>&1 | FileCheck indices.mlir -DFILE=parts.mlir
// RUN: not ark-opt < indices.mlir 2>&1 | FileCheck indices.mlir -DFILE="<stdin>" %{one}
// RUN: not ark-opt indices.mlir --verify-diagnostics 2>&1 | FileCheck indices.mlir -DFILE=indices.mlir %{one}

// The stack is limited.
// RUN: %PYTHON% -c "print('module {' * 5000 + '}' * 5000)" > nested.mlir
// RUN: not ark-opt nested.mlir 2>&1 | FileCheck indices.mlir -DFILE=nested.mlir %{one}

// The bytecode was damaged. MLIR's reader never ends on it.
// RUN: not ark-opt %S/Inputs/endless.mlirbc --ark-read-seconds=1 2>&1 | FileCheck endless.txt %{one}

// A pass. Its stack is printed, too, since the compiler has the defect.
// RUN: not ark-opt abort.mlir -ark-test-crash -o out.mlir 2>&1 | FileCheck abort.mlir
// RUN: not test -e out.mlir
// RUN: not ark-opt fatal.mlir -ark-test-crash 2>&1 | FileCheck fatal.mlir
// RUN: not ark-opt exit.mlir -ark-test-crash 2>&1 | FileCheck exit.mlir %{one}

// Without the guard, the crash ends ark-opt.
// RUN: not --crash ark-opt indices.mlir --ark-guard=false
// RUN: not --crash ark-opt abort.mlir -ark-test-crash --ark-guard=false

// The guard changes neither results nor the status.
// RUN: ark-opt good.mlir -ark-test-crash | FileCheck good.mlir
// RUN: ark-opt good.mlir -ark-test-crash --ark-guard=false | FileCheck good.mlir
// RUN: ark-opt < good.mlir -o out.mlir && FileCheck good.mlir < out.mlir
// RUN: ark-opt --show-dialects | FileCheck good.mlir --check-prefix=DIALECTS
// RUN: not ark-opt missing.mlir 2>&1 | FileCheck good.mlir --check-prefix=MISSING %{one}

//--- indices.mlir
module attributes {a = array<index: 0>} {}
// CHECK: [[FILE]]:0:0: error: MLIR cannot read it: its parser or verifier ended with SIG{{[A-Z]+$}}

//--- parts.mlir
module {}
// -----
module attributes {a = array<index: 0>} {}

//--- endless.txt
CHECK: {{^.*}}endless.mlirbc:0:0: error: MLIR cannot read it: its parser or verifier exceeded its limit of processor time{{$}}

//--- abort.mlir
func.func @abort() {
  return
}
// CHECK: #0 0x
// CHECK: abort.mlir:0:0: error: the compiler has a defect: pass ark-test-crash ended with SIGABRT{{$}}

//--- fatal.mlir
func.func @fatal_error() {
  return
}
// CHECK: fatal.mlir:0:0: error: the compiler has a defect: pass ark-test-crash failed: a reason{{$}}

//--- exit.mlir
func.func @exit() {
  return
}
// CHECK: exit.mlir:0:0: error: the compiler has a defect: pass ark-test-crash ended with status 3{{$}}

//--- good.mlir
// CHECK: func.func @good
func.func @good() {
  return
}
// DIALECTS: Available Dialects: {{.*}}ark
// MISSING: cannot open input file 'missing.mlir': {{.*$}}
