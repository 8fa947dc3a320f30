"""``ark sign``: signs bundles, and generates keys."""

from __future__ import annotations

import argparse

from .common import Commands, add_command


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "sign",
        "sign a bundle with an Ed25519 private key, or generate a key",
        "ark sign mlp.arkbin --key me.pem",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", nargs="?", help="bundle to sign")
    keys = parser.add_mutually_exclusive_group(required=True)
    keys.add_argument("--key", metavar="KEY.pem", help="private key, in PEM format")
    keys.add_argument(
        "--generate",
        metavar="KEY.pem",
        help="generate a key; write the private key to KEY.pem, the public key to KEY.pem.pub",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="signed bundle to write (default: replace BUNDLE)"
    )
    parser.set_defaults(parser=parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    parser: argparse.ArgumentParser = options.parser
    if options.generate is not None:
        if options.bundle is not None or options.output is not None:
            parser.error("--generate cannot be used with BUNDLE or --output")
        from ..bundle.signatures import generate_key

        print(generate_key(options.generate))
        return 0
    if options.bundle is None:
        parser.error("the following arguments are required: BUNDLE")
    from ..bundle import sign_bundle

    signature = sign_bundle(options.bundle, options.key, options.output)
    print(f"{options.output or options.bundle}: {signature}")
    return 0
