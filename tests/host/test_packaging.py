"""The wheel contains the package and nothing else of the repository, such as the emulator.

tests/wheel checks the same of an installed wheel, with what CMake adds.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "ark_mlir").is_dir(), reason="needs the sources of the package, not a wheel"
)


@pytest.fixture
def metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file METADATA of a wheel."""
    build = pytest.importorskip("scikit_build_core.build", reason="the build backend is missing")
    monkeypatch.chdir(ROOT)
    name = build.prepare_metadata_for_build_wheel(str(tmp_path))
    return (tmp_path / name / "METADATA").read_text()


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the files in a wheel that CMake adds nothing to."""
    build = pytest.importorskip("scikit_build_core.build", reason="the build backend is missing")
    monkeypatch.chdir(ROOT)
    name = build.build_wheel(str(tmp_path), {"wheel.cmake": "false"})
    return set(zipfile.ZipFile(tmp_path / name).namelist())


def test_the_wheel_has_the_package_only(packaged: set[str]) -> None:
    folders = {name.partition("/")[0] for name in packaged}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"ark_mlir"}
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "ark_mlir").rglob("*.py")}
    assert sources <= packaged


def test_the_readme_of_a_wheel_has_no_links_to_files(metadata: str) -> None:
    """A package index shows the page without the repository."""
    assert "Description-Content-Type: text/markdown" in metadata
    page = metadata.partition("\n\n")[2]
    assert page.splitlines()[0] == (ROOT / "README.md").read_text().splitlines()[0]
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert all(link.startswith(("https://", "#")) for link in links), links
    # Links by a label, and the lines that define the labels.
    assert not re.findall(r"\]\[[^\]]+\]|^\[[^\]]+\]: (?!https?://)", page, re.MULTILINE)
    assert "| 0.98 × torch.compile | 2026-11-28 |" in page
    assert "The tutorial and the notebooks continue this example." in page
    # Code is not changed.
    for block in re.findall(r"```.*?```", (ROOT / "README.md").read_text(), re.DOTALL):
        assert block in page


def test_the_readme_of_a_wheel_describes_every_extra(metadata: str) -> None:
    head, _, page = metadata.partition("\n\n")
    provided = set(re.findall(r"^Provides-Extra: (\S+)$", head, re.MULTILINE))
    assert {"cuda12", "torch", "serve"} <= provided
    section = page.partition("## Optional packages")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    described = {name for names, _, _ in rows for name in re.findall(r"`([^`]+)`", names)}
    assert described == provided
    assert page.index("## Optional packages") < page.index("## First program")


def test_a_page_without_extras_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "lib" / "python")
    readme = importlib.import_module("wheel_readme")
    with pytest.raises(ValueError, match="no section 'Optional packages'"):
        readme.extras("# Installation\n\n## A wheel\n")


def test_the_readme_needs_one_first_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extras would land behind another section, without an error, if README.md renamed it."""
    monkeypatch.syspath_prepend(ROOT / "lib" / "python")
    readme = importlib.import_module("wheel_readme")
    page = "# ark\n\n## First program\n\nText.\n"
    assert readme.with_extras(page, "## E\n") == "# ark\n\n## E\n## First program\n\nText.\n"
    for other in ("# ark\n\n### First program\n", page + page):
        with pytest.raises(ValueError, match="sections 'First program', expected 1"):
            readme.with_extras(other, "## E\n")


def test_the_metadata_has_addresses_once_the_project_has_one(metadata: str) -> None:
    """The source has no public address; docs/installation.md says so. Whoever publishes the
    source replaces that sentence by [project.urls], and no address is invented before."""
    pages = (ROOT / "docs" / "installation.md").read_text()
    says_none = "no public address yet" in " ".join(pages.split())
    addresses = re.findall(r"^Project-URL: .+, (https://\S+)$", metadata, re.MULTILINE)
    assert says_none != bool(addresses)


def test_the_wheel_has_no_emulator(packaged: set[str]) -> None:
    """The emulator is for tests, and not a target for users."""
    ours = {path.name for path in (ROOT / "tests/support").rglob("*") if path.suffix == ".cpp"}
    assert {"simt.cpp", "shared.cpp"} <= ours
    assert not ours & {name.rpartition("/")[2] for name in packaged}
    assert not [name for name in packaged if "emulation" in name.split("/")]


def test_the_package_imports_nothing_of_the_tests() -> None:
    names = {path.stem for path in (ROOT / "tests/support").iterdir()} - {"lit", "__pycache__"}
    assert "emulation" in names
    done = subprocess.run(
        ["grep", "-rnE", rf"^\s*(from|import) ({'|'.join(sorted(names))})\b", "ark_mlir"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
