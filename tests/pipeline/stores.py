"""Certificates of a broker and of a client, in each kind of file that Java's client reads; keytool writes Java's."""

import shutil
import subprocess
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate, load_pem_x509_certificates

PASSWORD = "st0re-s3cr3t"  # in tests only
KEY_PASSWORD = "k3y-s3cr3t"  # in tests only
NAME_OF_CLIENT = "CN=ann,OU=tests,O=Example"


class Stores:
    """A root authority, one below it that signs the client's certificate, and their files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, trustme.CA()
        self.ca, self.other_ca = folder / "ca.pem", folder / "other-ca.pem"
        self.server_cert, self.server_key = folder / "server.pem", folder / "server.key"
        between, other = self.root.create_child_ca(), trustme.CA()
        server = self.root.issue_cert("127.0.0.1", "localhost")
        self.misnamed_cert, self.misnamed_key = folder / "misnamed.pem", folder / "misnamed.key"
        misnamed = self.root.issue_cert("elsewhere.example.org")
        self.server_pkcs8 = _pkcs8(server.private_key_pem.bytes())
        misnamed.private_key_pem.write_to_path(str(self.misnamed_key))
        self.misnamed_cert.write_bytes(misnamed.cert_chain_pems[0].bytes())
        self.root.cert_pem.write_to_path(str(self.ca))
        other.cert_pem.write_to_path(str(self.other_ca))
        server.private_key_pem.write_to_path(str(self.server_key))
        self.server_cert.write_bytes(b"".join(each.bytes() for each in server.cert_chain_pems))
        ann = between.issue_cert(
            "ann@example.org", common_name="ann", organization_name="Example", organization_unit_name="tests"
        )
        self.chain = b"".join(each.bytes() for each in ann.cert_chain_pems).decode()
        self.key = ann.private_key_pem.bytes().decode()
        self.between = between.cert_pem.bytes().decode()
        secret = load_pem_private_key(self.key.encode(), None)
        assert isinstance(secret, EllipticCurvePrivateKey)
        own, *above = load_pem_x509_certificates(self.chain.encode())
        self.encrypted_key = secret.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode())
        ).decode()
        root = load_pem_x509_certificate(self.ca.read_bytes())
        self.pem = self._file("client.pem", f"{self.encrypted_key}{self.chain}".encode())
        self.p12 = self._file(
            "client.p12",
            pkcs12.serialize_key_and_certificates(
                b"ann",
                secret,
                own,
                [root, *above],
                BestAvailableEncryption(PASSWORD.encode()),
            ),
        )

    def _file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def trusting(self, kind: str, ca: Path | None = None, alias: str = "root") -> Path:
        """Return a trust store of the type `kind`."""
        path = self.folder / f"trusted-{alias}.{kind}"
        if kind == "PEM":
            return ca or self.ca
        if not path.exists():
            keytool(
                *("-importcert", "-noprompt", "-alias", alias, "-file", ca or self.ca),
                *("-keystore", path, "-storetype", kind, "-storepass", PASSWORD),
            )
        return path

    def jks(self) -> Path:
        """Return the client's key store in Java's own format; the key has a password of its own."""
        path = self.folder / "client.jks"
        if not path.exists():
            keytool(
                *("-importkeystore", "-srckeystore", self.p12, "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD),
                *("-srcalias", "ann", "-destkeystore", path, "-deststoretype", "JKS", "-deststorepass", PASSWORD),
                *("-destkeypass", KEY_PASSWORD),
            )
        return path


def _pkcs8(pem: bytes) -> str:
    key = load_pem_private_key(pem, None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def keytool(*words: str | Path) -> None:
    """Run keytool; the test is skipped where there is none."""
    program = shutil.which("keytool")
    if program is None:
        pytest.skip("keytool is not installed (Java 17 brings it): stores that Java writes are not read here")
    run = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
