// ark-opt names a file that cannot be MLIR, instead of quoting its bytes.

// RUN: %PYTHON% -c "open('%t.arkbin', 'wb').write(b'ARKBIN\\0\\1' + bytes(64))"
// RUN: not ark-opt %t.arkbin 2>&1 | FileCheck %s --check-prefix=BUNDLE -DFILE=%t.arkbin --implicit-check-not='{{.}}'
// BUNDLE: ark-opt: error: [[FILE]] is a bundle, and ark-opt reads MLIR; 'ark info [[FILE]]' prints the content of a bundle

// RUN: %PYTHON% -c "open('%t.o', 'wb').write(b'\\x7fELF' + bytes(64))"
// RUN: not ark-opt %t.o 2>&1 | FileCheck %s --check-prefix=BINARY -DFILE=%t.o --implicit-check-not='{{.}}'
// BINARY: ark-opt: error: [[FILE]] is a binary file, and ark-opt reads MLIR as text or bytecode

// Bytecode and text are read.
// RUN: echo 'module {}' > %t.mlir
// RUN: ark-opt %t.mlir --emit-bytecode -o %t.mlirbc
// RUN: ark-opt %t.mlirbc | FileCheck %s --check-prefix=READ
// READ: module
