"""A small part of `tests/soak/fuzz_mlir.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_SERVER = _ROOT / "build/bin/ark-opt-server"

pytestmark = pytest.mark.skipif(
    not (_ROOT / "build").is_dir(), reason="needs a build of the compiler, and this is a wheel"
)


def test_malformed_mlir_crashes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, str(_ROOT / "tests/soak/fuzz_mlir.py"), "--count", "160"]
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["count"] == 160
    assert figures["failures"] == 0
    assert figures["escaped"] == 0


def test_a_crash_is_found_and_counted(tmp_path: Path) -> None:
    """Tests the fuzzer itself: inputs that crash or hang MLIR's parser, and others."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from mlir_crashes import find_crash, is_contained\n"
        "from mlir_server import Server\n"
        "crash = b'module attributes {a = array<index: 0>} {}'\n"
        "endless = Path(sys.argv[4]).read_bytes()\n"
        "with Server(Path(sys.argv[2]), Path(sys.argv[3])) as server:\n"
        "    alone = [server.run(data, ()) for data in (b'module {}', b'module {', crash)]\n"
        "    guarded = [\n"
        "        server.run(data, (), guarded=True)\n"
        "        for data in (b'module {}', b'module {', crash, endless)\n"
        "    ]\n"
        "print(*[-outcome.signal if outcome.signal else outcome.status for outcome in alone])\n"
        "print(*[find_crash(outcome) is None for outcome in alone])\n"
        "print(*[outcome.status for outcome in guarded])\n"
        "print(*[is_contained(outcome) for outcome in (*guarded, *alone)])\n"
    )
    endless = _ROOT / "tests/pipelines/Inputs/endless.mlirbc"
    arguments = (_ROOT / "tests/soak", _SERVER, tmp_path, endless)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "0 1 -11",
        "True True False",
        "0 1 1 1",
        "False True True True False True False",
    ]


def test_an_input_is_the_same_in_every_folder(tmp_path: Path) -> None:
    """Bytecode contains the name of its file, which must not depend on the folder."""
    script = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from fuzz_mlir import BATCH, Inputs\n"
        "from mlir_server import Server\n"
        "folder = Path(sys.argv[3])\n"
        "folder.mkdir()\n"
        "with Server(Path(sys.argv[2]), folder) as server:\n"
        "    inputs = Inputs(server, 0)\n"
        "    for begin in range(0, 20 * BATCH, BATCH):\n"
        "        for one in inputs.make(range(begin, begin + BATCH)):\n"
        "            digest = hashlib.sha256(one.data).hexdigest()\n"
        "            print(one.number, one.kind, digest, *one.arguments)\n"
    )
    command = [sys.executable, "-c", script, str(_ROOT / "tests/soak"), str(_SERVER)]
    lists = [
        subprocess.run(
            [*command, str(tmp_path / folder)], capture_output=True, text=True, check=True
        ).stdout
        for folder in ("short", "a-longer-name")
    ]
    assert " bytecode " in lists[0]
    assert lists[0] == lists[1]


def run_with_server(server: str, name: str, script: str, folder: Path) -> str:
    """Runs a script with the arguments tests/soak, a server and a folder; returns its output."""
    program = folder / name
    program.write_text(server.format(python=sys.executable))
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script, str(_ROOT / "tests/soak"), str(program), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


# A server of the fuzzer's protocol whose commands allocate 200 MB, or never end.
_GREEDY_SERVER = """#!{python}
import os, sys, time
for line in sys.stdin:
    result, errors, *_, way = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        for path in (result, errors):
            open(path, "w").close()
        block = bytearray(b"x") * (200 << 20) if way == "allocate" else b""
        while way == "spin":
            pass
        time.sleep(30 if block else 0)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def test_runs_that_take_too_much_are_stopped(tmp_path: Path) -> None:
    """The limits hold for a server with a sanitizer, whose addresses have no limit."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "import mlir_server\n"
        "from mlir_crashes import find_crash\n"
        "mlir_server._MEMORY_BYTES = 100 << 20\n"
        "mlir_server._CPU_SECONDS = 2.0\n"
        "with mlir_server.Server(Path(sys.argv[2]), Path(sys.argv[3])) as server:\n"
        "    for way in ('end', 'allocate', 'spin'):\n"
        "        outcome = server.run(b'', (way,))\n"
        "        crash = find_crash(outcome)\n"
        "        print(outcome.signal, outcome.hung, crash and crash.kind)\n"
    )
    printed = run_with_server(_GREEDY_SERVER, "asan-server", script, tmp_path)
    assert printed == "None False None\n6 False signal 6\n6 True hang\n"


# A server of the fuzzer's protocol whose commands die without a stack. A module with the byte `r`
# kills the run that only parses it, too.
_STACKLESS_SERVER = """#!{python}
import os, sys
for line in sys.stdin:
    result, errors, source, *arguments = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        open(result, "w").close()
        with open(errors, "w") as stream:
            stream.write("malloc(): corrupted top size\\n")
        only_parses = arguments[1:] == ["--mlir-very-unsafe-disable-verifier-on-parsing"]
        if only_parses and b"r" not in open(source, "rb").read():
            os._exit(0)
        os.abort()
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def test_a_crash_without_a_stack_is_upstream_only_if_parsing_crashes(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from fuzz_mlir import Fuzzer, Input\n"
        "from mlir_crashes import Causes\n"
        "from mlir_server import Server\n"
        "with Server(Path(sys.argv[2]), Path(sys.argv[3])) as server:\n"
        "    for data in (b'reader', b'pass'):\n"
        "        causes = Causes(None)\n"
        "        Fuzzer(server, causes, 0).run([Input(0, 'bytecode', 'seed', data, ('--x',))])\n"
        "        print('unknown:', causes.report())\n"
    )
    printed = run_with_server(_STACKLESS_SERVER, "stackless-server", script, tmp_path)
    unknown = [line for line in printed.splitlines() if line.startswith("unknown: ")]
    assert unknown == ["unknown: 0", "unknown: 1"], printed
