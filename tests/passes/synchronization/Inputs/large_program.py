"""Writes a long chain of tasks on one arena: every task reads the result of the previous task, and
writes the bytes that the previous task has read.
"""

import argparse

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tasks", type=int, required=True)
parser.add_argument("--vctas", type=int, required=True, help="vCTAs of every task")
parser.add_argument("--sms", type=int, required=True)
parser.add_argument("--reads", choices=["tile", "neighbours", "all"], required=True)
options = parser.parse_args()

TILE = 64
count = options.vctas * TILE
offsets = {"tile": f"d0 * {TILE}", "neighbours": f"(d0 floordiv 4) * {4 * TILE}", "all": "0"}
size = {"tile": TILE, "neighbours": 4 * TILE, "all": count}[options.reads]
tile = "?" if options.reads == "neighbours" and options.vctas % 4 else size
print(
    'module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a",'
    f" sms = {options.sms}, warps = 8, shared_memory = 232448, bandwidth = 3350, flops = 990000,"
    " handoff = 1000, barrier = 2000, overhead = 500>} {\n"
    "ark.program @large() {\n"
    f"  %arena = ark.arena : memref<{8 * count}xi8>\n"
    "  %c0 = arith.constant 0 : index\n"
    f"  %c1 = arith.constant {4 * count} : index\n"
    f"  %b0 = memref.view %arena[%c0][] : memref<{8 * count}xi8> to memref<{count}xf32>\n"
    f"  %b1 = memref.view %arena[%c1][] : memref<{8 * count}xi8> to memref<{count}xf32>"
)
for task in range(options.tasks):
    ins = ""
    tiles = f"%a: memref<{TILE}xf32, strided<[1], offset: ?>>"
    if task > 0:
        ins = (
            f"%b{(task + 1) % 2}[#ark.region<(d0) -> ({offsets[options.reads]}), [{size}]>]"
            f" : memref<{count}xf32>"
        )
        tiles = f"%r: memref<{tile}xf32, strided<[1], offset: ?>>, {tiles}"
    print(
        f'  ark.task "t{task}" grid [{options.vctas}] ins({ins})'
        f" outs(%b{task % 2}[#ark.region<(d0) -> (d0 * {TILE}), [{TILE}]>]"
        f" : memref<{count}xf32>) {{\n"
        f"  ^bb0(%i: index, {tiles}):\n    ark.yield\n  }}"
    )
print("  ark.return\n}\n}")
