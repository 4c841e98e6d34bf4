"""What errors of librdkafka mean to a delivery, class by class; no client is needed for it."""

from dataclasses import dataclass

import pytest

from zombieproof.model.spark_sink.vocabulary import Reply
from zombieproof.pipeline.sink.replies import reply_of, reply_of_row


@dataclass
class Said:
    """An error as confluent-kafka tells it."""

    named: str
    is_fatal: bool = False
    may_be_again: bool = False
    wants_abort: bool = False

    def name(self) -> str:
        return self.named

    def fatal(self) -> bool:
        return self.is_fatal

    def retriable(self) -> bool:
        return self.may_be_again

    def txn_requires_abort(self) -> bool:
        return self.wants_abort


@pytest.mark.parametrize(
    ("said", "call", "row"),
    [
        (Said("_FENCED", is_fatal=True), Reply.FENCED, Reply.FENCED),
        (Said("PRODUCER_FENCED"), Reply.FENCED, Reply.FENCED),
        (Said("INVALID_PRODUCER_EPOCH", wants_abort=True), Reply.FENCED, Reply.FENCED),
        (Said("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", is_fatal=True), Reply.FATAL, Reply.FATAL),
        (Said("_TIMED_OUT", is_fatal=True, may_be_again=True), Reply.FATAL, Reply.FATAL),
        (Said("_TIMED_OUT", may_be_again=True, wants_abort=True), Reply.ABORTABLE, Reply.ABORTABLE),
        (Said("INVALID_TXN_STATE", wants_abort=True), Reply.ABORTABLE, Reply.ABORTABLE),
        (Said("_TIMED_OUT", may_be_again=True), Reply.UNKNOWN, Reply.ABORTABLE),
        (Said("_TIMED_OUT"), Reply.UNKNOWN, Reply.ABORTABLE),
        (Said("_TRANSPORT"), Reply.UNKNOWN, Reply.ABORTABLE),
        (Said("UNSTABLE_OFFSET_COMMIT"), Reply.UNKNOWN, Reply.ABORTABLE),
        (Said("GROUP_AUTHORIZATION_FAILED"), Reply.FATAL, Reply.ABORTABLE),
        (Said("MSG_SIZE_TOO_LARGE"), Reply.FATAL, Reply.ABORTABLE),
        (Said("an error of the next release"), Reply.FATAL, Reply.ABORTABLE),
    ],
    ids=lambda each: each.named if isinstance(each, Said) else each.name,
)
def test_an_error_comes_down_to_one_reply(said: Said, call: Reply, row: Reply) -> None:
    assert (reply_of(said), reply_of_row(said)) == (call, row)
