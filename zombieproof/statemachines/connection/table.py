"""A connection to a listener that demands SASL: who is at its other end, and what may come before that is known.

Theory of operation: a client may first ask which versions there are, then names a mechanism, then exchanges tokens by
it: as SaslAuthenticate requests, or (after a handshake of version 0) as bare bytes. From then on every request is that
of its user, who may have to prove it again from time to time. Whatever else comes before ends the connection; with an
answer where the client can understand one.
This machine decides nothing about transactions, only whose a request is; so it is not one of those that are checked.

Source: KIP-43, KIP-152, KIP-368, KIP-511; ``SaslServerAuthenticator.java``; reference §14.1.
"""

from zombieproof.model.vocabulary import ConnectionEvent as E
from zombieproof.model.vocabulary import ConnectionState as S
from zombieproof.statemachines.kernel import Machine, T

CONNECTION = Machine(
    name="connection",
    states=S,
    events=E,
    initial=S.NEW,
    rows=(
        T(S.NEW, E.TELL_VERSIONS, S.VERSIONS_TOLD, "the client knows which versions there are"),
        T(S.NEW, E.AGREE, S.AUTHENTICATING, "it names a mechanism that there is"),
        T(S.NEW, E.AGREE_ON_TOKENS, S.EXCHANGING_TOKENS, "it does by version 0: its tokens have no header"),
        T(S.NEW, E.CLOSE, S.CLOSED, "it wants something else, or a mechanism that there is not"),
        T(S.VERSIONS_TOLD, E.AGREE, S.AUTHENTICATING, "it names a mechanism that there is"),
        T(S.VERSIONS_TOLD, E.AGREE_ON_TOKENS, S.EXCHANGING_TOKENS, "it does by version 0: its tokens have no header"),
        T(S.VERSIONS_TOLD, E.CLOSE, S.CLOSED, "it asks for versions again, or wants something else"),
        T(S.AUTHENTICATING, E.CHALLENGE, S.AUTHENTICATING, "the mechanism wants another token"),
        T(S.AUTHENTICATING, E.ACCEPT, S.AUTHENTICATED, "it is who it says it is"),
        T(S.AUTHENTICATING, E.CLOSE, S.CLOSED, "it is not, or wants something else"),
        T(S.EXCHANGING_TOKENS, E.CHALLENGE, S.EXCHANGING_TOKENS, "the mechanism wants another token"),
        T(S.EXCHANGING_TOKENS, E.ACCEPT, S.AUTHENTICATED, "it is who it says it is"),
        T(S.EXCHANGING_TOKENS, E.CLOSE, S.CLOSED, "it is not"),
        T(S.AUTHENTICATED, E.AGREE, S.AUTHENTICATING, "its session has an end, and it proves again who it is"),
        T(S.AUTHENTICATED, E.AGREE_ON_TOKENS, S.EXCHANGING_TOKENS, "it does by tokens without a header"),
        T(S.AUTHENTICATED, E.CLOSE, S.CLOSED, "its session is over, or it names a mechanism that there is not"),
    ),
    terminal=frozenset({S.CLOSED}),
)
