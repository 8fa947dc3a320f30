"""``ark sign``: signatures of bundles, and keys for them."""

from __future__ import annotations

import argparse

from .common import Commands, add_command


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "sign",
        "sign a bundle with a private key of Ed25519, or make such a key",
        "ark sign mlp.arkbin --key me.pem",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", nargs="?", help="the bundle to sign")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--key", metavar="KEY.pem", help="the private key, as PEM")
    what.add_argument(
        "--generate", metavar="KEY.pem", help="write a new key, and its public one to KEY.pem.pub"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the signed bundle (default: in place of BUNDLE)"
    )
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    parser: argparse.ArgumentParser = options.parser
    if options.generate is not None:
        if options.bundle is not None or options.output is not None:
            parser.error("--generate makes a key and signs nothing")
        from ..bundle.signatures import generate_key

        print(generate_key(options.generate))
        return 0
    if options.bundle is None:
        parser.error("the following arguments are required: BUNDLE")
    from ..bundle import sign_bundle

    signature = sign_bundle(options.bundle, options.key, options.output)
    print(f"{options.output or options.bundle}: {signature}")
    return 0
