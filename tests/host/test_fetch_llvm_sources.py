"""The script that fetches sources of parts of LLVM takes only files with the expected hashes,
leaves no partial result, and reports errors in one line.
"""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "lib/tools/fetch_llvm_sources.py"
FILES = {
    "mlir/lib/Bindings/Python/IRCore.cpp": b"core",
    "mlir/python/mlir/ir.py": b"ir",
    "mlir/python/mlir/dialects/FuncOps.td": b"func",
}
LINKER_FILES = {
    "lld/ELF/Driver.cpp": b"driver",
    "lld/include/lld/Common/Driver.h": b"header",
}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script as a module, with an empty cache and a version whose files are FILES."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ARK_MLIR_PYTHON_SOURCES", raising=False)
    spec = importlib.util.spec_from_file_location("fetch_llvm_sources", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write(tmp_path / "right", FILES | LINKER_FILES)
    trees = {
        part.name: module.tree_digest(tmp_path / "right", part) for part in module.PARTS.values()
    }
    module.PINS["1.2.3"] = module.Pin(trees, "0")
    return module


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_takes_a_folder(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_MLIR_PYTHON_SOURCES", str(tmp_path / "right"))
    assert script.find_sources(script.BINDINGS, "1.2.3") == tmp_path / "right"


def test_takes_an_archive_of_the_whole_tree(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {f"llvm-project-1.2.3/{name}": content for name, content in FILES.items()}
    inside |= {"llvm-project-1.2.3/llvm/lib/IR/Core.cpp": b"", "../mlir/python/mlir/evil.py": b""}
    path = archive(tmp_path / "llvm.tar.xz", inside)
    monkeypatch.setenv("ARK_MLIR_PYTHON_SOURCES", str(path))

    found = script.find_sources(script.BINDINGS, "1.2.3")

    taken = {p.relative_to(found).as_posix(): p.read_bytes() for p in found.rglob("*.*")}
    assert taken == FILES
    path.unlink()
    monkeypatch.delenv("ARK_MLIR_PYTHON_SOURCES")
    assert script.find_sources(script.BINDINGS, "1.2.3") == found, "a second build uses the cache"


def test_takes_the_requested_part(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = FILES | LINKER_FILES | {"lld/test/ELF/driver.s": b"", "lld/COFF/Driver.cpp": b""}
    path = archive(tmp_path / "llvm.tar.xz", inside)
    monkeypatch.setenv("ARK_LLD_SOURCES", str(path))

    found = script.find_sources(script.LINKER, "1.2.3")

    taken = {p.relative_to(found).as_posix(): p.read_bytes() for p in found.rglob("*.*")}
    assert taken == LINKER_FILES


def test_refuses_other_contents_and_keeps_no_file(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "x.tar.xz", {**FILES, "mlir/python/mlir/ir.py": b"altered"})
    monkeypatch.setenv("ARK_MLIR_PYTHON_SOURCES", str(path))
    with pytest.raises(script.FetchError, match=r"does not hold the bindings of MLIR 1\.2\.3"):
        script.find_sources(script.BINDINGS, "1.2.3")
    assert list((tmp_path / "cache/ark").iterdir()) == []


def test_an_altered_cache_is_not_used(script: ModuleType, tmp_path: Path) -> None:
    cache = write(script.cache_folder(script.BINDINGS, "1.2.3"), FILES)
    assert script.from_cache(script.BINDINGS, "1.2.3") == cache
    (cache / "mlir/python/mlir/ir.py").write_bytes(b"altered")
    with pytest.raises(script.FetchError, match="does not hold"):
        script.from_cache(script.BINDINGS, "1.2.3")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("/nonexistent/sources", "does not exist"),
        (str(SCRIPT), "is not a tar archive"),
        (str(SCRIPT.parent), "does not hold the bindings of MLIR 22.1.8"),
    ],
)
def test_one_line_on_failure(value: str, message: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, "bindings", "--version", "22.1.8"],
        env={"ARK_MLIR_PYTHON_SOURCES": value, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_version_is_refused(script: ModuleType) -> None:
    with pytest.raises(script.FetchError, match=r"no pinned sources for LLVM 9\.9\.9"):
        script.find_sources(script.BINDINGS, "9.9.9")
