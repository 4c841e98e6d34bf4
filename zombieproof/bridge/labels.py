"""Who asked for what and was told what in a live run, read off its messages: the ghost facts that promises need.

An application is not asked. What it sends under one identity (producer id, epoch) until it asks for the end is one
transaction, and gets one label; what comes under that identity behind the end is the next one.
"""

from zombieproof.bridge.observer import Observer
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import CLIENT, Message
from zombieproof.broker.coordinator.store import last_values
from zombieproof.formats.batches import Batch, OffsetKey, OffsetValue, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import OffsetsCommitted, TxnOffsetCommit
from zombieproof.messages.partitions import Produce, ProduceAnswer
from zombieproof.messages.transactions import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, EndTxnAnswer, InitProducerId
from zombieproof.model.vocabulary import NONE, Error, Outcome

Identity = tuple[int, int]


class Labels(Observer):
    """Watches a cluster from its messages alone. Requests are told by `sent` when they set out."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, [], [])
        self._of_batches: dict[tuple[TopicPartition, Identity, int], int] = {}
        self._of_offsets: dict[tuple[OffsetKey, Identity, int], int] = {}
        self._requests: dict[int, tuple[int, object]] = {}
        self._ends: dict[Identity, int] = {}
        self._numbers: dict[int, int] = {}

    def begin(self) -> None:
        """What the logs hold now was there before the run: nobody knows who asked for it, and nobody is blamed."""
        for place in self.cluster.metadata.partitions_of([TRANSACTION_STATE]):
            for name, value in last_values(self._leading_log(place)).items():
                self._names(name)
                self._states[name] = value.state
            self._seen[place] = self._log(place).end_offset

    def watch(self) -> None:
        """Look at every partition that holds something, and every id that was ever named."""
        logs = {tp for (_, tp), store in self.cluster.stores.items() if store.log.end_offset}
        data = sorted(tp for tp in logs if tp[0] not in INTERNAL_TOPICS)
        self.partitions += [tp for tp in data if tp not in self.partitions]
        offsets = sorted(tp for tp in logs if tp[0] == CONSUMER_OFFSETS)
        self.partitions += [tp for tp in offsets if tp not in self.partitions]

    # ---------------------------------------------------------------- requests

    def of_request(self, number: int) -> int:
        """The label of a request, also of a copy of one; 0: it belongs to no transaction."""
        return self._sent.get(number, 0)

    def sent(self, message: Message) -> None:
        """A client's request sets out."""
        match message.body:
            case Produce():
                for tp, batches in message.body.partitions.items():
                    self._joins(tp)
                    for each in batches:
                        identity = each.batch.producer_id, each.batch.producer_epoch
                        label = self._label_for(identity, message)
                        self._of_batches.setdefault((tp, identity, each.batch.base_sequence), label)
            case TxnOffsetCommit():
                identity = message.body.producer_id, message.body.producer_epoch
                label = self._label_for(identity, message)
                self._joins(self.cluster.metadata.group_partition(message.body.group))
                for row in message.body.offsets:
                    key = OffsetKey(message.body.group, *row.partition)
                    self._of_offsets[key, identity, row.offset] = label
            case AddPartitionsToTxn():
                for asked in message.body.transactions:
                    self._names(asked.transactional_id)
                    self._label_for((asked.producer_id, asked.producer_epoch), message)
            case AddOffsetsToTxn():
                self._label_for((message.body.producer_id, message.body.producer_epoch), message)
            case InitProducerId():
                self._names(message.body.transactional_id)
            case EndTxn():
                self._asks(message.body, message)

    def _joins(self, tp: TopicPartition) -> None:
        if tp not in self.partitions and tp in self.cluster.metadata.partitions:
            self.partitions.append(tp)

    def _names(self, transactional_id: str | None) -> None:
        if transactional_id is not None and transactional_id not in self.ids:
            self.ids.append(transactional_id)

    def _label_for(self, identity: Identity, message: Message) -> int:
        """The label of what is sent under an identity now; behind an end a new one."""
        label = self._identities.get(identity)
        if label is None or identity in self._ends:
            label = self.new_label()
            self._ends.pop(identity, None)
        self.note_sent(message.number, label, identity)
        self._requests[message.number] = label, message.body
        return label

    def _asks(self, body: EndTxn, message: Message) -> None:
        identity = body.producer_id, body.producer_epoch
        label = self._identities.get(identity) or self.new_label()
        self.note_sent(message.number, label, identity)
        self._requests[message.number] = label, body
        self._ends[identity] = label
        self.facts(label).asked = Outcome.COMMIT if body.committed else Outcome.ABORT

    # ---------------------------------------------------------------- answers

    def told(self, message: Message) -> None:
        """An answer reaches its client."""
        if message.receiver != CLIENT or message.number not in self._requests:
            return
        label, request = self._requests.pop(message.number)
        match message.body:
            case ProduceAnswer():
                for tp, produced in message.body.partitions.items():
                    if produced.error == Error.NONE:
                        self.facts(label).acked |= 1 << self.partitions.index(tp)
            case OffsetsCommitted() if isinstance(request, TxnOffsetCommit):
                if all(error == Error.NONE for error in message.body.errors.values()):
                    place = self.cluster.metadata.group_partition(request.group)
                    self.facts(label).acked |= 1 << self.partitions.index(place)
            case EndTxnAnswer() if isinstance(request, EndTxn) and message.body.error == Error.NONE:
                self.facts(label).result = Outcome.COMMIT if request.committed else Outcome.ABORT

    # ---------------------------------------------------------------- records

    def number_of(self, producer_id: int) -> int:
        """Producer ids are counted as they are met: each broker has a block of its own, with a gap before the next."""
        return producer_id if producer_id == NONE else self._numbers.setdefault(producer_id, len(self._numbers))

    def label_of(self, partition: TopicPartition, batch: Batch, record: Record) -> int:
        """The label of the request that a record came with."""
        identity = batch.producer_id, batch.producer_epoch
        if isinstance(record.value, OffsetValue) and isinstance(record.key, OffsetKey):
            known = self._of_offsets.get((record.key, identity, record.value.offset))
            return self._label_of_before(partition, batch) if known is None else known
        known = self._of_batches.get((partition, identity, batch.base_sequence))
        return self._label_of_before(partition, batch) if known is None else known

    def _label_of_before(self, partition: TopicPartition, batch: Batch) -> int:
        """A label for a batch that no request of this run brought: what its application asked for was done."""
        place = partition, (NONE, NONE), batch.base_offset
        if place not in self._of_batches:
            self._of_batches[place] = self.new_label()
            self.facts(self._of_batches[place]).asked = Outcome.COMMIT
        return self._of_batches[place]
