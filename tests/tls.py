"""Certificates, and servers on this machine that have them."""

import ssl
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HERE = ("localhost", "127.0.0.1")


class Authority(NamedTuple):
    """A certificate authority: its key, its certificate, and the file with the certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    file: Path


def _name(of: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, of)])


def _signed(
    of: str, signer: Authority | None, *extensions: x509.ExtensionType, days: int = 1
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Return a key and a certificate, signed by an authority or by itself, until in some days."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(of))
        .issuer_name(signer.certificate.subject if signer else _name(of))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=days))
    )
    issuer = signer.key if signer else key
    # Without these, Python 3.13 trusts no certificate.
    identifiers = (
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()),
    )
    for extension in (*extensions, *identifiers):
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    return key, builder.sign(issuer, hashes.SHA256())


def authority(folder: Path) -> Authority:
    """Make an authority that nobody trusts yet."""
    uses = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    may_sign = x509.KeyUsage(
        **dict.fromkeys((*uses, "crl_sign", "encipher_only", "decipher_only"), False), key_cert_sign=True
    )
    key, certificate = _signed("An authority", None, x509.BasicConstraints(ca=True, path_length=None), may_sign)
    file = folder / "authority.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(key, certificate, file)


def with_certificate(
    server: ThreadingHTTPServer, signer: Authority | None, folder: Path, names: tuple[str, ...] = HERE, days: int = 1
) -> None:
    """Let a server speak TLS."""
    known: list[x509.GeneralName] = [
        x509.IPAddress(ip_address(each)) if each[0].isdigit() else x509.DNSName(each) for each in names
    ]
    key, certificate = _signed(names[0], signer, x509.SubjectAlternativeName(known), days=days)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = folder / "server.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    # The handshake is made in the thread of the connection.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
