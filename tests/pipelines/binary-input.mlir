// ark-opt names a file that cannot be MLIR, instead of quoting its bytes.

// RUN: %PYTHON% -c "open('%t.arkbin', 'wb').write(b'ARKBIN\\0\\1' + bytes(64))"
// RUN: not ark-opt %t.arkbin 2>&1 | FileCheck %s --check-prefix=BUNDLE -DFILE=%t.arkbin --implicit-check-not='{{.}}'
// BUNDLE: [[FILE]]:1:1: error: a bundle, not MLIR; 'ark info' prints the content of a bundle

// RUN: %PYTHON% -c "open('%t.o', 'wb').write(b'\\x7fELF' + bytes(64))"
// RUN: not ark-opt %t.o 2>&1 | FileCheck %s --check-prefix=BINARY -DFILE=%t.o --implicit-check-not='{{.}}'
// BINARY: [[FILE]]:1:1: error: a binary file, neither MLIR as text nor as bytecode

// RUN: not ark-opt < %t.o 2>&1 | FileCheck %s --check-prefix=BINARY -DFILE="<stdin>" --implicit-check-not='{{.}}'

// Bytecode and text are read.
// RUN: echo 'module {}' > %t.mlir
// RUN: ark-opt %t.mlir --emit-bytecode -o %t.mlirbc
// RUN: ark-opt %t.mlirbc | FileCheck %s --check-prefix=READ
// READ: module
