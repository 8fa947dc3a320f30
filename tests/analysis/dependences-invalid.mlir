// RUN: ark-opt %s --split-input-file --ark-test-print-dependences --verify-diagnostics -o /dev/null

ark.program @tooManyVCTAs(%y: memref<8388608xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{'ark.task' op has more than 4194304 vCTAs}}
  ark.task "a" grid [8388608] ins() outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8388608xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @gridThatOverflows(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{'ark.task' op has more than 4194304 vCTAs}}
  ark.task "a" grid [4294967296, 4294967296] ins() outs(%y[#ark.region<(d0, d1) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// Single elements of a transposed view, too many to be listed.
ark.program @tooScattered(%x: memref<8192x8192xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %odd = memref.reinterpret_cast %x to offset: [1], sizes: [8192, 4096], strides: [8192, 2]
    : memref<8192x8192xf32> to memref<8192x4096xf32, strided<[8192, 2], offset: 1>>
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0, 0), [8192, 8192]>] : memref<8192x8192xf32>) {
  ^bb0(%i: index, %a: memref<8192x8192xf32, strided<[8192, 1], offset: ?>>):
    ark.yield
  }
  // expected-remark @below {{dependence of operand 0 on operand 0 of 'a' is not exact: the regions have too many pieces}}
  ark.task "b" grid [1] ins(%odd[#ark.region<(d0) -> (0, 0), [8192, 4096]>] : memref<8192x4096xf32, strided<[8192, 2], offset: 1>>) outs() {
  ^bb0(%i: index, %a: memref<8192x4096xf32, strided<[8192, 2], offset: ?>>):
    ark.yield
  }
  ark.return
}
