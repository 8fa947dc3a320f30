"""Measures the bandwidth of streaming reads of a GPU: the limit of a step that reads all weights.

The kernel is PTX, so that only NVIDIA's driver is needed. Each thread has eight loads of 16 bytes
in flight. Bulk copies into shared memory are 1 % faster on an H200.
"""

from __future__ import annotations

import ctypes
import statistics
from typing import Any

import torch

from ark_mlir.runtime.cuda.api import CudaApi

LOADS = 8
WORDS = 1 << 30  # words of 4 bytes
# CTAs per SM, and threads per CTA.
SHAPES = ((1, 1024), (2, 512))
REPEATS = 7


def ptx() -> str:
    """Returns PTX of ``read(data, vectors, sum)``, which adds all words, so that it reads all."""
    loads = "\n".join(
        f"""
  ld.global.nc.L1::no_allocate.v4.u32 {{%a{k}, %b{k}, %c{k}, %d{k}}}, [%at{k}];
  add.u64 %at{k + 1}, %at{k}, %stride;"""
        for k in range(LOADS)
    )
    sums = "\n".join(f"  add.u32 %sum, %sum, %{word}{k};" for k in range(LOADS) for word in "abcd")
    return f"""
.version 7.4
.target sm_80
.address_size 64
.visible .entry read(.param .u64 data, .param .u64 vectors, .param .u64 result)
    .maxntid 1024, 1, 1 .minnctapersm 1 {{
  .reg .pred %p;
  .reg .u32 %n<4>, %sum;
  .reg .u32 %a<{LOADS}>, %b<{LOADS}>, %c<{LOADS}>, %d<{LOADS}>;
  .reg .u64 %at<{LOADS + 1}>, %wide, %stride, %rest, %end, %last, %out;
  ld.param.u64 %at0, [data];
  ld.param.u64 %end, [vectors];
  ld.param.u64 %out, [result];
  cvta.to.global.u64 %at0, %at0;
  cvta.to.global.u64 %out, %out;
  shl.b64 %end, %end, 4;
  add.u64 %end, %end, %at0;
  mov.u32 %n0, %ctaid.x;
  mov.u32 %n1, %ntid.x;
  mov.u32 %n2, %tid.x;
  mad.lo.u32 %n3, %n0, %n1, %n2;
  mul.wide.u32 %wide, %n3, 16;
  add.u64 %at0, %at0, %wide;
  mov.u32 %n0, %nctaid.x;
  mul.lo.u32 %n1, %n0, %n1;
  mul.wide.u32 %stride, %n1, 16;
  mul.lo.u64 %rest, %stride, {LOADS - 1};
  sub.u64 %last, %end, %rest;
  mov.u32 %sum, 0;
MANY:
  setp.ge.u64 %p, %at0, %last;
  @%p bra ONE;
{loads}
{sums}
  mov.u64 %at0, %at{LOADS};
  bra MANY;
ONE:
  setp.ge.u64 %p, %at0, %end;
  @%p bra DONE;
  ld.global.nc.v4.u32 {{%a0, %b0, %c0, %d0}}, [%at0];
  add.u32 %sum, %sum, %a0;
  add.u32 %sum, %sum, %b0;
  add.u32 %sum, %sum, %c0;
  add.u32 %sum, %sum, %d0;
  add.u64 %at0, %at0, %stride;
  bra ONE;
DONE:
  red.global.add.u32 [%out], %sum;
  ret;
}}
"""


def read_limit() -> float:
    """Returns the bytes per second of the fastest shape, the median of its samples.

    Raises ValueError if the sum is wrong.
    """
    data = torch.randint(-(1 << 31), 1 << 31, (WORDS,), dtype=torch.int32, device="cuda")
    expected = int(data.sum(dtype=torch.int64)) % (1 << 32)
    api = CudaApi()
    module = api.call("cuModuleLoadData", ptx().encode() + b"\0")
    try:
        function = api.call("cuModuleGetFunction", module, b"read")
        times = [_seconds(api, function, data, expected, *shape) for shape in SHAPES]
    finally:
        api.call("cuModuleUnload", module)
    return 4 * WORDS / min(times)


def _seconds(
    api: CudaApi, function: Any, data: torch.Tensor, expected: int, ctas: int, threads: int
) -> float:
    result = torch.zeros(1, dtype=torch.int32, device="cuda")
    stream = torch.cuda.current_stream()
    grid = ctas * torch.cuda.get_device_properties(0).multi_processor_count
    arguments = (data.data_ptr(), WORDS // 4, result.data_ptr())
    types = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    times: list[float] = []
    for _ in range(REPEATS):
        result.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(stream)
        api.call(
            "cuLaunchKernel", function, grid, 1, 1, threads, 1, 1, 0, stream.cuda_stream,
            (arguments, types), 0,
        )  # fmt: skip
        end.record(stream)
        stream.synchronize()
        if int(result) % (1 << 32) != expected:
            raise ValueError("the streaming read has left words out")
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times[1:])


def main() -> None:
    if torch.version.hip:
        print("Streaming read: not measured on an AMD GPU, since the kernel is PTX.")
    else:
        print(f"Streaming read of 4 GiB: {read_limit() / 1e9:.0f} GB/s.")


if __name__ == "__main__":
    main()
