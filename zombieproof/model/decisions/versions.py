"""What the version of a request changes about the error in its answer.

Source: reference §2.7, §2.8, §2.10, §4.1, §7.5; KIP-588.
"""

from zombieproof.model.vocabulary import ApiKey, Error


def first_version_with_producer_fenced(api: int) -> int:
    """The first version of a coordinator API that may be answered with PRODUCER_FENCED."""
    return 4 if api == ApiKey.INIT_PRODUCER_ID else 2


def error_on_the_wire(api: int, version: int, error: int) -> int:
    """The error that a client of this request version is told."""
    coordinator_api = api in (
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
    )
    if coordinator_api and error == Error.PRODUCER_FENCED and version < first_version_with_producer_fenced(api):
        return int(Error.INVALID_PRODUCER_EPOCH)
    if api == ApiKey.TXN_OFFSET_COMMIT and version < 2 and error == Error.COORDINATOR_LOAD_IN_PROGRESS:
        return int(Error.COORDINATOR_NOT_AVAILABLE)
    return int(error)
