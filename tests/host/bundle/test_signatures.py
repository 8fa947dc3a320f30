"""Signatures: bundles of trusted keys are loaded, and altered ones are not."""

from __future__ import annotations

import base64
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import ark_mlir as ark
from ark_mlir import knobs, permissions
from ark_mlir.bundle import Bundle, read_bundle, sign_bundle, write_bundle
from ark_mlir.bundle.format import TRAILER_SIZE
from ark_mlir.bundle.signatures import generate_key
from ark_mlir.bundle.store import BundleStore
from ark_mlir.runtime.diagnosis.report import make_report
from ark_mlir.testing.toy import add_program, compile_kernel

pytest.importorskip("cryptography", reason="signatures need the package cryptography")
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

Trust = Callable[..., None]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key; the public one is beside it, with `.pub`."""
    generate_key(tmp_path / "me.pem")
    return tmp_path / "me.pem"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.arkbin"
    write_bundle(path, *add_program().parts(compile_kernel()))
    return path


@pytest.fixture
def signed(plain: Path, key: Path, tmp_path: Path) -> Path:
    sign_bundle(plain, key, tmp_path / "signed.arkbin")
    return tmp_path / "signed.arkbin"


@pytest.fixture
def trust() -> Generator[Trust]:
    """``trust(path)`` sets ARK_TRUSTED_KEYS."""
    with knobs.scope(ARK_TRUSTED_KEYS=None):
        yield lambda path: os.environ.update(ARK_TRUSTED_KEYS=str(path))


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def raw(key: Path) -> bytes:
    loaded = serialization.load_pem_public_key(public(key).read_bytes())
    assert isinstance(loaded, ed25519.Ed25519PublicKey)
    return loaded.public_bytes_raw()


# -- bundles that are loaded -----------------------------------------------------------------------


def test_a_signed_bundle(signed: Path, plain: Path, key: Path, trust: Trust) -> None:
    name = base64.b64encode(raw(key)).decode()
    bundle = read_bundle(signed)
    assert bundle.signature is not None
    assert str(bundle.signature) == f"Ed25519 {name}, not compared with trusted keys"
    assert read_bundle(plain).signature is None
    trust(public(key))
    bundle = read_bundle(signed)
    assert str(bundle.signature) == f"Ed25519 {name}, trusted: {public(key)}"
    assert make_report(bundle).signature == str(bundle.signature)
    assert f"signature        {bundle.signature}" in str(make_report(bundle))
    ark.load(signed).close()


def test_the_content_is_that_of_the_unsigned_file(
    signed: Path, plain: Path, tmp_path: Path
) -> None:
    assert signed.stat().st_size == plain.stat().st_size + TRAILER_SIZE
    assert signed.read_bytes()[64:-TRAILER_SIZE] == plain.read_bytes()[64:]
    read_bundle(signed).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == plain.read_bytes()


def test_signing_again_replaces_the_signature(signed: Path, key: Path, tmp_path: Path) -> None:
    before = signed.read_bytes()
    sign_bundle(signed, key)
    assert signed.read_bytes() == before  # Ed25519 signatures are deterministic
    generate_key(tmp_path / "other.pem")
    sign_bundle(signed, tmp_path / "other.pem")
    signature = read_bundle(signed).signature
    assert signature is not None
    assert signature.key == raw(tmp_path / "other.pem")
    assert signed.stat().st_size == len(before)


@pytest.mark.parametrize("form", ["base64", "many", "folder", "link"])
def test_forms_of_trusted_keys(
    signed: Path, key: Path, trust: Trust, tmp_path: Path, form: str
) -> None:
    generate_key(tmp_path / "other.pem")
    text = base64.b64encode(raw(key))
    other = public(tmp_path / "other.pem").read_bytes()
    keys = tmp_path / "keys"
    if form == "base64":
        keys.write_bytes(b"# ours\n\n" + text + b"  # me\n")
    elif form == "many":
        keys.write_bytes(other + text + b"\n" + other)
    else:
        keys.mkdir()
        (keys / ".hidden").write_bytes(b"no key")
        (keys / "a.pem").write_bytes(other)
        if form == "folder":
            (keys / "b.pub").write_bytes(public(key).read_bytes())
        else:
            (keys / "b.pub").symlink_to(public(key))
    trust(keys)
    assert read_bundle(signed).signature is not None


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_of_openssl(plain: Path, trust: Trust, tmp_path: Path) -> None:
    key, pub = tmp_path / "k.pem", tmp_path / "k.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", pub], check=True)
    sign_bundle(plain, key)
    trust(pub)
    assert read_bundle(plain).signature is not None


# -- bundles that are refused ----------------------------------------------------------------------


def test_unsigned_bundles_and_other_keys(
    signed: Path, plain: Path, key: Path, trust: Trust, tmp_path: Path
) -> None:
    generate_key(tmp_path / "other.pem")
    trust(public(tmp_path / "other.pem"))
    with pytest.raises(ark.BundleError, match=r"signature: made by the key Ed25519 .* not in"):
        ark.load(signed)
    with pytest.raises(ark.BundleError, match="signature: the bundle has none"):
        ark.load(plain)
    # The signature of its own key, under the name of a trusted key.
    data = bytearray(signed.read_bytes())
    data[-TRAILER_SIZE + 16 : -TRAILER_SIZE + 48] = raw(tmp_path / "other.pem")
    signed.write_bytes(data)
    with pytest.raises(ark.BundleError, match="signature: invalid"):
        ark.load(signed)


@pytest.mark.parametrize("trusted", [True, False])
def test_no_altered_byte_is_loaded(signed: Path, key: Path, trust: Trust, trusted: bool) -> None:
    """Changes bytes anywhere, under a signature of the original bytes."""
    if trusted:
        trust(public(key))
    data = signed.read_bytes()
    draw = random.Random(0)
    indices = [*range(64), *range(len(data) - TRAILER_SIZE, len(data))]
    indices += [draw.randrange(len(data)) for _ in range(600)]
    for index in indices:
        altered = bytearray(data)
        altered[index] ^= 1 << draw.randrange(8)
        signed.write_bytes(altered)
        with pytest.raises(ark.BundleError):
            read_bundle(signed)
    for size in (len(data) - 1, len(data) - TRAILER_SIZE, 64 + TRAILER_SIZE, 64):
        signed.write_bytes(data[:size])
        with pytest.raises(ark.BundleError):
            read_bundle(signed)


def test_the_signature_is_checked_before_the_manifest(
    signed: Path, key: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("parsed before the signature was checked")

    monkeypatch.setattr("ark_mlir.bundle.reader.parse_manifest", parse)
    trust(public(key))
    data = bytearray(signed.read_bytes())
    data[-1 - TRAILER_SIZE] ^= 1
    signed.write_bytes(data)
    with pytest.raises(ark.BundleError, match="signature: invalid"):
        read_bundle(signed)


def test_a_signature_cannot_be_taken_off(signed: Path, key: Path, trust: Trust) -> None:
    """A bundle without its trailer is valid, but is not loaded if a signature is required."""
    data = bytearray(signed.read_bytes()[:-TRAILER_SIZE])
    data[12:16] = bytes(4)
    data[24:32] = len(data).to_bytes(8, "little")
    signed.write_bytes(data)
    assert read_bundle(signed).signature is None
    trust(public(key))
    with pytest.raises(ark.BundleError, match="the bundle has none"):
        read_bundle(signed)


def test_unknown_forms_of_signatures_raise(signed: Path) -> None:
    data = signed.read_bytes()
    for offset in (0, 8, 12, 127):
        altered = bytearray(data)
        altered[len(data) - TRAILER_SIZE + offset] ^= 2
        signed.write_bytes(altered)
        with pytest.raises(ark.BundleError, match="signature: its format is unknown"):
            read_bundle(signed)


# -- invalid keys ----------------------------------------------------------------------------------


def test_invalid_trusted_keys_raise(signed: Path, trust: Trust, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    trust(keys)
    for text, message in (
        (None, "cannot be read"),
        (b"", "holds no key"),
        (b"# nothing\n", "holds no key"),
        (b"hello\n", "other than Ed25519 public keys"),
        (base64.b64encode(bytes(31)), "other than Ed25519 public keys"),
        (
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "other than Ed25519 public keys",
        ),
        (rsa_key(), "other than Ed25519 public keys"),
        (bytes(2 << 20), "other than Ed25519 public keys"),
    ):
        if text is not None:
            keys.write_bytes(text)
        with pytest.raises(ark.InvalidUsageError, match=f"ARK_TRUSTED_KEYS: .*{message}"):
            read_bundle(signed)


def rsa_key() -> bytes:
    return (
        rsa.generate_private_key(65537, 2048)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def test_trusted_keys_that_other_users_can_write_raise(
    signed: Path, key: Path, trust: Trust, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions, "_is_private_group", lambda gid: False)
    folder = tmp_path / "keys"
    folder.mkdir()
    file = Path(shutil.copy(public(key), folder))
    trust(folder)
    for path, mode in ((file, 0o666), (file, 0o664), (folder, 0o777), (tmp_path, 0o777)):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        with pytest.raises(ark.InvalidUsageError, match=f"another user could .*mode {mode:o}"):
            read_bundle(signed)
        path.chmod(before)
        assert read_bundle(signed).signature is not None
    (folder / "inner").mkdir()
    with pytest.raises(ark.InvalidUsageError, match="is a folder"):
        read_bundle(signed)


def test_invalid_private_keys_raise(plain: Path, key: Path, tmp_path: Path) -> None:
    with pytest.raises(ark.InvalidUsageError, match="cannot be read"):
        sign_bundle(plain, tmp_path / "nowhere")
    for text in (b"", b"hello", public(key).read_bytes(), rsa_key()):
        (tmp_path / "k").write_bytes(text)
        with pytest.raises(ark.InvalidUsageError, match="no Ed25519 private key"):
            sign_bundle(plain, tmp_path / "k")
    private = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "k").write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(ark.InvalidUsageError, match="encrypted"):
        sign_bundle(plain, tmp_path / "k")


def test_only_bundles_are_signed(plain: Path, key: Path, tmp_path: Path) -> None:
    data = bytearray(plain.read_bytes())
    data[-1] ^= 1
    plain.write_bytes(data)
    with pytest.raises(ark.BundleError, match="altered"):
        sign_bundle(plain, key, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_new_keys(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    with pytest.raises(ark.InvalidUsageError, match="exists already"):
        generate_key(key)
    assert key.read_bytes() == before


# -- bundles that need no signature ----------------------------------------------------------------


def test_bundles_that_this_user_compiled_need_no_signature(
    plain: Path, key: Path, trust: Trust, tmp_path: Path
) -> None:
    """Permissions protect the cache of this user; bundles that ranks exchange are not in files."""
    trust(public(key))
    store = BundleStore(tmp_path / "cache", 1 << 30)
    store.save("a", Bundle.from_parts(*add_program().parts()))
    assert store.load("a") is not None
    assert read_bundle(plain, made_here=True).signature is None


WITHOUT = """
import sys
sys.modules["cryptography"] = None
import ark_mlir as ark
from ark_mlir.bundle import read_bundle, sign_bundle
from ark_mlir.bundle.signatures import generate_key
def outcome(call, *arguments):
    try:
        return call(*arguments)
    except ark.ArkError as error:
        return f"{type(error).__name__}: {error.message}"
plain, signed, key = sys.argv[1:]
print(read_bundle(signed).signature)
print(outcome(sign_bundle, plain, key))
print(outcome(generate_key, key))
import os
for path in (key + ".pub", key + ".raw"):
    os.environ["ARK_TRUSTED_KEYS"] = path
    print(outcome(read_bundle, signed))
print(outcome(read_bundle, plain))
"""


def test_without_the_library(plain: Path, signed: Path, key: Path) -> None:
    """Without trusted keys, unverified bundles are loaded and marked. With trusted keys, loading
    fails."""
    key.with_name(f"{key.name}.raw").write_bytes(base64.b64encode(raw(key)))
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT, plain, signed, key],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "ARK_TRUSTED_KEYS"},
    )
    lines = result.stdout.splitlines()
    assert lines[0].endswith("not verified: the package cryptography is not installed")
    for line in lines[1:5]:
        assert line.startswith("UnsupportedError: checking and making signatures needs the package")
        assert "pip install 'ark-mlir[sign]'" in line
    assert lines[5].startswith("BundleError: signature: the bundle has none")
