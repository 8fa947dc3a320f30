"""Pages agree with the code whose names, versions and commands they repeat."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from public_namespaces import NAMESPACES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COLUMNS = 118
FOLDERS = ("benchmarks", "dialects", "docs", "examples", "lib", "passes", "tests")

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def is_written_by_hand(path: Path) -> bool:
    """Returns False for references that mlir-tblgen generates, and for records of measurements."""
    generated = path.name in ("ArkDialect.md", "Passes.md")
    return not generated and path.parent != ROOT / "benchmarks" / "results"


def long_lines(path: Path) -> list[str]:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    name = path.relative_to(ROOT)
    return [f"{name}:{number}: {len(line)}" for number, line in lines if len(line) > COLUMNS]


def test_lines_of_documentation_are_short() -> None:
    pages = [*ROOT.glob("*.md")]
    for folder in FOLDERS:
        pages += [*(ROOT / folder).rglob("*.md"), *(ROOT / folder).rglob("*.td")]
    pages = [page for page in pages if is_written_by_hand(page)]
    assert DOCS / "glossary.md" in pages
    assert [line for page in pages for line in long_lines(page)] == []


GLOSSARY = re.compile(r"```\{glossary\}\n(.*?)```", re.S)


def glossary_entries() -> dict[str, str]:
    """Returns the definitions of the glossary by their terms."""
    entries: dict[str, str] = {}
    for section in GLOSSARY.findall(read_page("glossary.md")):
        for entry in section.strip().split("\n\n"):
            terms, _, definition = entry.partition("\n")
            entries[terms] = " ".join(definition.split())
    return entries


def test_glossary_defines_each_term_once() -> None:
    """Each definition is an entry of a glossary, which other pages link, and names the field's
    word."""
    entries = glossary_entries()
    assert len(entries) > 80
    outside = GLOSSARY.sub("", read_page("glossary.md"))
    assert re.findall(r"^  \S.*\*Elsewhere:\*", outside, re.M) == []
    assert [term for term, text in entries.items() if "*Elsewhere:*" not in text] == []
    terms = [term for terms in entries for term in re.split(r", | \(.*", terms) if term]
    assert sorted(terms) == sorted(set(terms))


def test_installation_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| (`.+?) \|", read_page("installation.md"), re.M)
    named = {word for row in rows for word in re.findall(r"`([\w-]+)`", row)}
    assert set(project["optional-dependencies"]) <= named


def test_index_lists_every_folder_of_the_compiler() -> None:
    """Sphinx refuses a page that no table of contents lists."""
    folders = ("dialects", "lib", "passes")
    pages = [page for folder in folders for page in ROOT.glob(f"{folder}/*/README.md")]
    assert ROOT / "lib" / "target" / "README.md" in pages
    listed = re.findall(r"^\.\./(\S+)$", read_page("index.md"), re.M)
    assert {str(page.relative_to(ROOT).with_suffix("")) for page in pages} <= set(listed)


def described_names() -> set[str]:
    """Returns the names that the API reference describes, qualified by module if they are not of
    ark itself."""
    names: set[str] = set()
    for page in (DOCS / "reference").glob("*.md"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"\.\. auto(?:function|class|exception):: (\S+)", line):
                name = match[1]
                names.add(name if name.startswith("ark_mlir.") else f"{module}.{name}")
    return names


def test_reference_describes_every_public_name() -> None:
    ark = pytest.importorskip("ark_mlir", reason="the package is not installed")
    dtypes = {name for name in ark.__all__ if f"`ark.{name}`" in read_page("reference/building.md")}
    public = {f"ark_mlir.{name}" for name in set(ark.__all__) - dtypes - {"__version__"}}
    assert public - described_names() == set()


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_reference_describes_functions_and_classes(namespace: str) -> None:
    """An entry names a function or a class by its namespace, or by the module that defines it.

    Aliases of types are no classes: signatures have their definitions.
    """
    ark = pytest.importorskip("ark_mlir", reason="the package is not installed")
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    module = importlib.import_module(f"ark_mlir{namespace}")
    values = {name: inspect.unwrap(getattr(module, name)) for name in module.__all__}
    described = described_names()
    missing = [
        name
        for name, value in values.items()
        if inspect.isclass(value) or inspect.isfunction(value)
        if not {f"{module.__name__}.{name}", f"{value.__module__}.{value.__qualname__}"} & described
        # The reference describes this value as an attribute of the package.
        if not (f"ark_mlir.{name}" in described and getattr(ark, name, None) is value)
    ]
    assert missing == []


def load_script(name: str) -> Any:
    """Loads a script of lib/python as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "lib" / "python" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_support_lists_the_ops_that_cases_call(monkeypatch: pytest.MonkeyPatch) -> None:
    ark = pytest.importorskip("ark_mlir", reason="the package is not installed")
    make_support = load_script("make_support")
    monkeypatch.setattr(ark, "exp", ark.exp)  # the context restores both functions
    monkeypatch.setattr(ark, "add", ark.add)
    recorder = make_support.Recorder()
    monkeypatch.setattr(make_support.ops, "__all__", ["exp", "add"])
    recorder.install()
    recorder.dtype = ark.fp16
    with ark.Program("p"):
        x = ark.input("x", (2,), ark.fp16)
        index = ark.input("i", (2,), ark.int32)
        ark.output("y", ark.exp(x))
        ark.output("z", ark.add(index, index))  # not of the case's type
    assert recorder.seen == {"exp": {ark.fp16}}
    row = make_support.table("function", recorder.seen, (ark.fp32, ark.fp16)).splitlines()[-1]
    assert row == "| `exp` |   | ✓ |"


def test_tables_go_between_their_marks() -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    make_support = load_script("make_support")
    page = "a\n<!-- begin x -->\nold\n\n<!-- end x -->\nb\n"
    assert make_support.fill_in(page, {"x": "new\n"}) == page.replace("old", "\nnew", 1)
    with pytest.raises(SystemExit, match="the page has no section named 'y'"):
        make_support.fill_in(page, {"y": ""})


def test_support_lists_the_targets_of_the_compiler() -> None:
    """The page has the targets that the compiler knows, with the facts of the registry."""
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    make_support = load_script("make_support")
    page = read_page("support.md")
    table = make_support.target_table()
    assert make_support.fill_in(page, {"targets": table}) == page, "run `make docs`"
    rows = {row.split("`")[1]: row for row in table.splitlines()[2:]}
    assert {"cpu", "cuda:sm_90a", "hip:gfx942"} <= set(rows)
    assert "| 132 | 227 KiB |" in rows["cuda:sm_90a"]
    assert rows["hip:gfx942"].count("✓") == 4


def test_versions_equal_those_of_the_code() -> None:
    import ark_mlir
    from ark_mlir.bundle.format import VERSION

    page = read_page("versions.md")
    assert f"**format {VERSION}**" in page
    assert f"version in the source is {ark_mlir.__version__}," in page
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.M)[0] == ark_mlir.__version__


def test_changelog_names_every_command() -> None:
    from ark_mlir.cli.main import COMMANDS

    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    listed = re.search(r"`ark` with the commands ([^.]+)\.", changes)
    assert listed is not None
    names = {command.__name__.rpartition(".")[2].rstrip("_") for command in COMMANDS}
    assert set(re.findall(r"\w+", listed[1])) - {"and"} == names


SOAK = ROOT / "tests" / "soak"
COMMAND = re.compile(r"`((?:make [a-z-]+|(?:python )?[\w/]+\.py)(?: [^`]+)?)`")


def find_scripts(command: str) -> list[Path]:
    """Returns the scripts that a command in a page names."""
    scripts = [SOAK / f"{name}.py" for name in re.findall(r"ONLY=(\w+)", command)]
    for name in re.findall(r"[\w/]+\.py", command):
        paths = [ROOT / name, SOAK / name, *ROOT.glob(f"tests/**/{name}")]
        scripts.append(next((path for path in paths if path.is_file()), ROOT / name))
    return scripts


def test_every_figure_of_reliability_has_a_command() -> None:
    """A command names a goal of make, or a script, and every long test has one."""
    goals = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    scripts: set[Path] = set()
    for command in COMMAND.findall(read_page("reliability.md")):
        name, *words = command.split()
        assert name != "make" or words[0] in goals, command
        found = find_scripts(command)
        assert [path for path in found if not path.is_file()] == [], command
        scripts |= set(found)
    long = {path for path in SOAK.glob("*.py") if "\nFULL_COUNT" in path.read_text("utf-8")}
    assert len(long) > 10
    assert long - scripts == set()


def test_commands_of_reliability_start() -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    options: dict[Path, set[str]] = {}
    for command in COMMAND.findall(read_page("reliability.md")):
        for path in find_scripts(command):
            if path.parent == SOAK:
                options.setdefault(path, {"--count", "--seed"}).update(
                    re.findall(r"--[a-z-]+", command)
                )
    for path, names in options.items():
        usage = subprocess.run(
            [sys.executable, path, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert {name for name in names if name not in usage} == set(), path
