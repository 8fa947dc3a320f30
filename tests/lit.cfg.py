"""Configuration of the lit tests; see CONTRIBUTING.md for how to write one.

Two switches come from the environment: ARK_OPT_CHECK_ROUNDTRIP=1 makes every ark-opt also print,
parse and compare its output, and ARK_REQUIRE_BINDINGS=1 makes tests fail, instead of being skipped,
if the Python package is missing.
"""

import os
import subprocess

import lit.formats
import lit.util
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "ark"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = [
    "CMakeLists.txt", "Inputs", "conftest.py", "emulation", "gpu", "host", "lib",
    "lit.cfg.py", "lit.site.cfg.py", "soak", "wheel",
]  # fmt: skip
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ark_obj_root, "tests")

# A test that hangs is killed and reported; this needs psutil, of the test requirements.
if lit_config.maxIndividualTestTimeIsSupported[0]:
    lit_config.maxIndividualTestTime = 300

# A variable whose name does not start with $ must not leak into the next label.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
llvm_config.with_system_environment(
    ["HOME", "TMP", "TEMP", "TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"]
)

roundtrip = lit.util.pythonize_bool(os.environ.get("ARK_OPT_CHECK_ROUNDTRIP", "0"))
ark_opt = ToolSubst(
    "ark-opt", extra_args=["--verify-roundtrip"] if roundtrip else [], unresolved="fatal"
)
llvm_config.add_tool_substitutions([ark_opt], [config.ark_tools_dir])
config.substitutions.append(("%PYTHON%", config.python_executable))
llvm_config.add_tool_substitutions(
    ["FileCheck", "count", "llvm-objdump", "llvm-readobj", "mlir-translate", "not", "split-file"],
    [config.llvm_tools_dir],
)


def bindings_work():
    """Returns True if the interpreter of the build can import the package."""
    command = [config.python_executable, "-c", "import ark_mlir.ir"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if bindings_work():
    config.available_features.add("bindings_python")
elif os.environ.get("ARK_REQUIRE_BINDINGS"):
    lit_config.fatal("ark_mlir cannot be imported: run `make build`")

# The targets for which this machine can generate code.
for target in config.targets_to_build.split():
    config.available_features.add(f"{target.lower()}-registered-target")
