"""An issuer of tokens on loopback: it takes client credentials, signs tokens, and serves the key to check them."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

AUDIENCE = "kafka"


class Issuer:
    """Requests for tokens, and the key that signs them."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._key = rsa.generate_private_key(65537, 2048)
        self.address = ""

    def keys(self) -> dict[str, Any]:
        """Return the public key, as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        modulus, exponent = (
            _text(number.to_bytes((number.bit_length() + 7) // 8)) for number in (numbers.n, numbers.e)
        )
        return {"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": modulus, "e": exponent}]}

    def token(self, subject: str, scope: str) -> str:
        """Return a token for five minutes."""
        now = int(time.time())
        claims = {"sub": subject, "scope": scope, "aud": AUDIENCE, "iat": now, "exp": now + 300, "jti": str(now)}
        signed = ".".join(_text(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims))
        return f"{signed}.{_text(self._key.sign(signed.encode(), padding.PKCS1v15(), SHA256()))}"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def issuer() -> Iterator[Issuer]:
    """An issuer at `address`, with `/token` and `/keys`, until the end of the block."""
    made = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, made.keys())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            scheme, _, told = self.headers.get("Authorization", "").partition(" ")
            user, _, secret = base64.b64decode(told).decode().partition(":")
            made.asked.append({"path": self.path, "scheme": scheme, "user": user, "secret": secret, **form})
            if secret.startswith("wr0ng"):
                self._answer(401, {"error": "invalid_client"})
            else:
                token = made.token(user, form.get("scope", ""))
                self._answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": 300})

        def _answer(self, status: int, told: dict[str, Any]) -> None:
            data = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_words: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
