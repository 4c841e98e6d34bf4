"""How whoever comes through a socket says who he is: by SASL, by the certificate of his TLS, or not at all.

Source: KIP-12, KIP-43; ``DefaultKafkaPrincipalBuilder.java``.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from zombieproof.broker.authorization.mechanisms import Mechanism


@dataclass(frozen=True, slots=True)
class Security:
    """What a listener demands. `mechanisms` by name: with none of them nobody logs in; `tls` None: in plain text."""

    mechanisms: Mapping[str, Mechanism] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None

    @property
    def protocol(self) -> str:
        """What Kafka calls such a listener (``SecurityProtocol``)."""
        encrypted = self.tls is not None
        if self.mechanisms:
            return "SASL_SSL" if encrypted else "SASL_PLAINTEXT"
        return "SSL" if encrypted else "PLAINTEXT"


OPEN = Security()
"""Nothing is demanded: everybody is ``User:ANONYMOUS``."""
