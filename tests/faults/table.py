"""Faults of the kind that a step can have: one text of a machine's steps that says something else.

Each is put into a copy of the package alone, and has to be noticed twice: by a scenario of the checker, which breaks a
promise in so many steps, and by live brokers or clients, in the test that `net` names. A fault is a sentence; what is
wrong with a guard is not here (rules have mutants, see ``zombieproof check --mutants``), but what is wrong with the
order of looks, appends, answers, and with what follows an outcome.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """One fault.

    Attributes:
        sentence: what goes wrong.
        file: of ``zombieproof/statemachines``; its folder is the machine.
        before, after: a text that stands once in that file, and the faulty one.
        scenario, bounds: where the checker notices it; "" of a machine that no scenario has (members of groups).
        breaks, steps: the promise that the shortest counterexample breaks, and its length.
        net: the test at live parts that fails.
    """

    sentence: str
    file: str
    before: str
    after: str
    scenario: str
    bounds: str
    breaks: str
    steps: int
    net: str

    @property
    def machine(self) -> str:
        """The machine whose step is wrong."""
        return self.file.partition("/")[0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{self.machine}: {self.sentence}"


def of_groups(sentence: str, file: str, before: str, after: str, net: str) -> Fault:
    """A fault of who is in a group, which no scenario has."""
    return Fault(sentence, file, before, after, "", "", "", 0, net)


def of_doors(sentence: str, file: str, before: str, after: str, net: str) -> Fault:
    """A fault of who may come in, which no scenario has: whoever is refused adds no history."""
    return Fault(sentence, file, before, after, "", "", "", 0, net)


NEIGHBOURS = "tests/answers/test_neighbours.py::test_every_neighbour_is_answered_as_a_real_kafka_answered"
"""What a real Kafka was asked besides."""
RECORDINGS = "tests/answers/test_sample.py::test_every_answer_of_the_sample_is_given_again"
"""A sample of what real brokers answered."""


FAULTS: tuple[Fault, ...] = (
    Fault(
        sentence="the look behind an append is left out: one of an earlier term of office counts",
        file="coordinator/appends.py",
        before="same = office.coordinator_epoch == pending.coordinator_epoch\n    retries",
        after="same = True\n    retries",
        scenario="appends_under_way",
        bounds="failed_appends=0 unknown_appends=0",
        breaks="no_durable_record_contradicts_memory",
        steps=6,
        net="tests/broker/test_coordinator.py::test_an_append_that_outlives_the_coordinator_changes_nothing",
    ),
    Fault(
        sentence="the look before an append is left out: one that an earlier term of office prepared is made",
        file="coordinator/appends.py",
        before="    same = office.coordinator_epoch == pending.coordinator_epoch\n"
        "    verdict = decide_log_append(version, look_up(office, notes), txn.known, same, rules)",
        after="    verdict = decide_log_append(version, look_up(office, notes), txn.known, True, rules)",
        scenario="appends_under_way",
        bounds="timeouts=1 unknown_appends=0 failed_appends=0",
        breaks="a_transaction_has_one_decision",
        steps=17,
        net="tests/broker/test_coordinator.py::test_an_append_that_outlives_the_coordinator_changes_nothing",
    ),
    Fault(
        sentence="what was pending is kept when its append has failed",
        file="coordinator/appends.py",
        before="        transition.give_up(txn, failed, rules)",
        after="        txn.failed_epoch_fence = failed or txn.failed_epoch_fence",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="what_is_pending_is_under_way",
        steps=4,
        net="tests/broker/test_coordinator.py::test_a_failed_append_leaves_everything_as_it_was_and_can_be_tried_again",
    ),
    Fault(
        sentence="what is prepared is not pending: nothing says so while its append is under way",
        file="coordinator/appends.py",
        before="    txn.pending_state = state\n    pending.coordinator_epoch = office.coordinator_epoch",
        after="    pending.coordinator_epoch = office.coordinator_epoch",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="no_durable_record_contradicts_memory",
        steps=4,
        net=RECORDINGS,
    ),
    Fault(
        sentence="markers set out before the decision is durable",
        file="coordinator/ends.py",
        before="    appends.prepare(txn, pending, verdict, 0, office.now_ms, office, notes)\n"
        "    error = appends.append(txn, pending, office, rules, effects, notes)\n"
        "    if error != Error.NONE:\n"
        "        _answer(pending, error, NONE, NONE, effects)",
        after="    appends.prepare(txn, pending, verdict, 0, office.now_ms, office, notes)\n"
        "    error = appends.append(txn, pending, office, rules, effects, notes)\n"
        "    effects.sends_markers = True\n"
        "    if error != Error.NONE:\n"
        "        _answer(pending, error, NONE, NONE, effects)",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="a_decided_transaction_is_driven_to_its_end",
        steps=16,
        net=RECORDINGS,
    ),
    Fault(
        sentence="the first marker counts for all partitions, and the transaction completes before the last",
        file="coordinator/completion.py",
        before="txn.partitions = txn.partitions & ~partitions",
        after="txn.partitions = 0",
        scenario="one_transaction",
        bounds="lost=0 doubled=0 doubled_batches=0 doubled_markers=0",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=13,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a completion whose append has failed is not tried again",
        file="coordinator/outcomes.py",
        before="        effects.retries = True",
        after="        effects.finishes = True",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="a_decided_transaction_is_driven_to_its_end",
        steps=18,
        net="tests/broker/test_coordinator.py::test_a_completion_that_could_not_be_appended_is_tried_again",
    ),
    Fault(
        sentence="a coordinator that loads a decided transaction sends no markers",
        file="coordinator/loading.py",
        before="    if txn.pending_state != NONE and rules.reload_drives_markers == 1:\n        drive(txn, effects)",
        after="    if txn.pending_state != NONE and rules.reload_drives_markers == 1:\n"
        "        effects.sends_markers = False",
        scenario="coordinator_failover",
        bounds="lost=0 unknown_appends=0",
        breaks="a_decided_transaction_is_driven_to_its_end",
        steps=13,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a fence ends the transaction under the epoch of its owner",
        file="coordinator/fences.py",
        before="    pending.producer_epoch = verdict.producer_epoch\n",
        after="    pending.producer_epoch = txn.producer_epoch\n",
        scenario="kip98_takeover",
        bounds="",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=8,
        net="tests/clients/test_at_a_live_cluster.py::test_a_successor_fences_it",
    ),
    Fault(
        sentence="whoever asked for a partition to join is answered before that is durable",
        file="coordinator/joins.py",
        before="    error = appends.append(txn, pending, office, rules, effects, notes)\n"
        "    if error != Error.NONE:\n"
        "        joined(pending, error, effects)",
        after="    joined(pending, appends.append(txn, pending, office, rules, effects, notes), effects)",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=8,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a partition whose joining could not be appended is told that it has joined",
        file="coordinator/outcomes.py",
        before="        joined(pending, outcome.error, effects)",
        after="        joined(pending, 0, effects)",
        scenario="appends_under_way",
        bounds="deposed=0",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=10,
        net="tests/broker/test_coordinator.py::test_several_transactions_of_one_request_are_answered_together_when_the_last_is_durable",
    ),
    Fault(
        sentence="an identity is granted before its record is durable",
        file="coordinator/init_producer_id.py",
        before="    error = appends.append(txn, pending, office, rules, effects, notes)\n"
        "    if error != Error.NONE:\n"
        "        refuse_init(effects, request.version, error)",
        after="    error = appends.append(txn, pending, office, rules, effects, notes)\n"
        "    grant(pending, error, effects)",
        scenario="zombie_takeover",
        bounds="lost=0 doubled=0 doubled_batches=0 late=0 crashes=0 appends_travel=1 failed_appends=1",
        breaks="no_two_live_producers_share_an_identity",
        steps=6,
        net="tests/broker/test_durability.py::test_no_identity_is_granted_before_its_record_is_durable",
    ),
    Fault(
        sentence="an identity is granted whose record could not be appended",
        file="coordinator/init_producer_id.py",
        before="    if error != Error.NONE:\n"
        "        refuse_init(effects, pending.asked_version, error)\n"
        "        return\n"
        "    given",
        after="    given",
        scenario="zombie_takeover",
        bounds="lost=0 doubled=0 doubled_batches=0 late=0 crashes=0 appends_travel=1 failed_appends=1",
        breaks="no_two_live_producers_share_an_identity",
        steps=8,
        net="tests/broker/test_durability.py::test_an_append_that_is_not_durable_in_time_is_answered_with_that",
    ),
    Fault(
        sentence="the producer id that follows an exhausted one is not taken, and handed out again",
        file="coordinator/appends.py",
        before="        effects.takes_producer_id = True\n",
        after="        effects.takes_producer_id = False\n",
        scenario="reader",
        bounds="late=0 may_abort=0 epoch_max=2",
        breaks="only_what_was_asked_to_commit_is_committed",
        steps=15,
        net=RECORDINGS,
    ),
    Fault(
        sentence="the coordinator's word on one batch lets in another: its guard is not compared",
        file="partition_leader/batches.py",
        before="    verdict = decide_append(entry, batch, guard, origin, rules)\n    note",
        after="    verdict = decide_append(entry, batch, entry.guard, origin, rules)\n    note",
        scenario="late_verification",
        bounds="doubled_markers=0",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=13,
        net="tests/broker/test_partition.py::test_a_batch_that_nobody_was_asked_about_does_not_come_in_with_the_guard_of_another",
    ),
    Fault(
        sentence="a batch goes on with the guard of another that is being asked about",
        file="partition_leader/verification.py",
        before="    if verdict.event != PartitionEvent.VERIFY:\n"
        "        effects.goes_on = True\n"
        "        effects.guard = NO_GUARD\n"
        "        return\n",
        after="    if verdict.event != PartitionEvent.VERIFY or entry.guard != NO_GUARD:\n"
        "        effects.goes_on = True\n"
        "        effects.guard = entry.guard\n"
        "        return\n",
        scenario="late_verification",
        bounds="doubled_markers=0",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=11,
        net=RECORDINGS,
    ),
    Fault(
        sentence="the coordinator says no, and the batch goes on",
        file="partition_leader/verification.py",
        before="    if error != Error.NONE:\n"
        "        _refuse(error, arrival, 0, effects)\n"
        "        return\n"
        "    effects.goes_on = True\n"
        "    effects.guard = guard",
        after="    effects.goes_on = True\n    effects.guard = guard",
        scenario="late_produce",
        bounds="",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=9,
        net="tests/broker/test_produce.py::test_what_the_coordinator_refuses_fails_alone",
    ),
    Fault(
        sentence="BEGIN for CONTINUE: the second batch of a transaction begins it anew",
        file="partition_leader/batches.py",
        before="    effects.row = verdict.row\n    effects.event = verdict.event\n\n\ndef appended",
        after="    effects.row = verdict.row\n"
        "    effects.event = PartitionEvent.BEGIN if verdict.event == PartitionEvent.CONTINUE else verdict.event\n"
        "\n"
        "\n"
        "def appended",
        scenario="reader",
        bounds="late=0 may_abort=0",
        breaks="no_machine_leaves_its_table",
        steps=8,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a batch that is there already is appended again",
        file="partition_leader/batches.py",
        before="    if verdict.error != Error.NONE or verdict.event == PartitionEvent.NOTHING:\n",
        after="    if verdict.error != Error.NONE:\n",
        scenario="idempotent_producer",
        bounds="",
        breaks="sequences_follow_each_other",
        steps=4,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a marker that was refused is written all the same",
        file="partition_leader/markers.py",
        before="        answer(effects, verdict.error, verdict.row)\n        return\n    effects.appends = True",
        after="        answer(effects, verdict.error, verdict.row)\n    effects.appends = True",
        scenario="coordinator_failover",
        bounds="lost=0 unknown_appends=0",
        breaks="epochs_never_go_down",
        steps=15,
        net=RECORDINGS,
    ),
    Fault(
        sentence="a marker in the log that ends nothing is passed over: its epoch is not learned",
        file="partition_leader/markers.py",
        before="    effects.error = verdict.error\n"
        "    appended(entry, marker, offset, verdict.event, rules, effects, notes)",
        after="    effects.error = verdict.error\n"
        "    if entry.txn_first_offset != NONE:\n"
        "        appended(entry, marker, offset, verdict.event, rules, effects, notes)",
        scenario="leader_failover",
        bounds="doubled_batches=0",
        breaks="memory_is_the_fold_of_the_log",
        steps=10,
        net=RECORDINGS,
    ),
    Fault(
        sentence="committed transactions are listed as aborted, and aborted ones are not",
        file="partition_leader/markers.py",
        before="    is_listed = not committed and first_offset != NONE",
        after="    is_listed = committed and first_offset != NONE",
        scenario="reader",
        bounds="late=0",
        breaks="a_reader_misses_nothing_committed",
        steps=10,
        net=RECORDINGS,
    ),
    Fault(
        sentence="open transactions hold nothing back from readers",
        file="partition_leader/offsets.py",
        before="not_below_log_start(earlier_offset(undecided, unsettled), reach.log_start)",
        after="not_below_log_start(unsettled, reach.log_start)",
        scenario="reader",
        bounds="late=0 may_abort=0",
        breaks="a_reader_gets_committed_records_only",
        steps=7,
        net=RECORDINGS,
    ),
    Fault(
        sentence="what waits for an answer to the question before is not asked when that has come",
        file="partition_leader/questions.py",
        before="        lane.sends = True\n    return mode",
        after="        lane.sends = False\n    return mode",
        scenario="waiting_questions",
        bounds="",
        breaks="a_question_waits_only_behind_another",
        steps=9,
        net="tests/broker/test_questions_of_brokers.py::test_questions_of_several_ids_wait_for_the_first_and_then_travel_together",
    ),
    Fault(
        sentence="an abort marker commits the offsets that wait for it",
        file="group_coordinator/offsets.py",
        before="    evolve_offsets_marker(committed, pending, outcome_is_commit, state)",
        after="    evolve_offsets_marker(committed, pending, 1, state)",
        scenario="late_offset_commit",
        bounds="doubled_batches=0 leader_changes=0",
        breaks="no_input_is_passed_over",
        steps=14,
        net=RECORDINGS,
    ),
    Fault(
        sentence="an offset waits for its marker, and nobody remembers which",
        file="group_coordinator/offsets.py",
        before="    evolve_pending(pending, offset, record_offset, state)",
        after="    pending.state = state",
        scenario="late_offset_commit",
        bounds="late=0 doubled_batches=0 leader_changes=0",
        breaks="offsets_in_memory_are_the_fold_of_their_log",
        steps=10,
        net=RECORDINGS,
    ),
    Fault(
        sentence="the next block of producer ids stays at hand when it is begun, and is begun again behind its end",
        file="producer_ids.py",
        before="        blocks.next_first = NONE\n"
        "        blocks.next_size = 0\n"
        "        blocks.is_asked_for = False\n"
        "    claimed",
        after="        blocks.is_asked_for = False\n    claimed",
        scenario="producer_id_blocks",
        bounds="",
        breaks="no_two_live_producers_share_an_identity",
        steps=6,
        net="tests/broker/test_producer_ids_of_brokers.py::test_the_next_block_is_asked_for_in_time_and_nobody_waits_for_it",
    ),
    Fault(
        sentence="a transaction that a batch has opened counts as not begun: its end is not sent",
        file="producer/calls.py",
        before="        producer.started = True\n        effects.joins = Joins.JOIN",
        after="        effects.joins = Joins.JOIN",
        scenario="one_transaction",
        bounds="lost=0 doubled=0 doubled_batches=0 doubled_markers=0",
        breaks="a_transaction_has_one_decision",
        steps=11,
        net="tests/clients/test_at_a_live_cluster.py::test_after_an_abort_it_goes_on",
    ),
    Fault(
        sentence="a partition that has joined opens nothing: the end of the transaction is not sent",
        file="producer/answers.py",
        before="        if request.api == ApiKey.ADD_PARTITIONS_TO_TXN:\n            producer.started = True\n",
        after="",
        scenario="late_verification",
        bounds="doubled_batches=0 doubled_markers=0",
        breaks="a_transaction_has_one_decision",
        steps=8,
        net="tests/clients/test_at_a_live_cluster.py::test_after_an_abort_it_goes_on",
    ),
    Fault(
        sentence="a batch leaves before its partition has joined",
        file="producer/calls.py",
        before="    elif joining == Joining.OUTSIDE:\n        effects.joins = Joins.HAVE_TO_ASK",
        after="    elif joining == Joining.OUTSIDE:\n        effects.joins = Joins.JOIN",
        scenario="kip98_takeover",
        bounds="",
        breaks="every_open_transaction_is_known_to_its_coordinator",
        steps=4,
        net="tests/clients/test_at_a_live_cluster.py::test_it_commits_what_it_consumed_and_produced",
    ),
    Fault(
        sentence="the identity that comes with the answer to EndTxn is not adopted",
        file="producer/answers.py",
        before="        if answer.producer_id != NONE:\n"
        "            adopt(producer, answer.producer_id, answer.producer_epoch, True, effects)\n"
        "        finish",
        after="        finish",
        scenario="rotation_failover",
        bounds="lost=0 failovers=0",
        breaks="an_unrivalled_producer_is_never_fenced",
        steps=15,
        net="tests/clients/test_at_a_live_cluster.py::test_it_commits_what_it_consumed_and_produced",
    ),
    Fault(
        sentence="what is held back of an aborted transaction is handed out",
        file="consumer/reading.py",
        before="        effects.drops_held = True\n",
        after="        effects.delivers_held = True\n",
        scenario="reader",
        bounds="late=0",
        breaks="a_reader_gets_committed_records_only",
        steps=10,
        net="tests/clients/test_read_committed.py::test_what_each_isolation_gets_of_the_same_log",
    ),
    Fault(
        sentence="an aborted transaction of the list begins, and nothing is skipped",
        file="consumer/reading.py",
        before="    return move(notes, MachineIndex.CONSUMER, state, verdict.event)\n\n\ndef read",
        after="    return int(state)\n\n\ndef read",
        scenario="reader",
        bounds="late=0",
        breaks="a_reader_gets_committed_records_only",
        steps=10,
        net="tests/clients/test_read_committed.py::test_what_each_isolation_gets_of_the_same_log",
    ),
    of_groups(
        sentence="who a member is, and what it says, is looked at before whether there is room for it",
        file="classic_group/joining.py",
        before="decide_join_group(group, request.sender, request.version, _is_full(group, members, member, host))\n",
        after="decide_join_group(group, request.sender, request.version)\n"
        "    if verdict.error == Error.NONE and _is_full(group, members, member, host):\n"
        "        verdict = decide_join_group(group, request.sender, request.version, True)\n",
        net=NEIGHBOURS,
    ),
    of_groups(
        sentence="the session time-out of a member that joins is looked at after its group",
        file="classic_group/joining.py",
        before="    if terms.error != Error.NONE:\n"
        "        note(notes, Decision.JOIN_GROUP, terms.row, terms.error)\n"
        "        reply(effects, terms.error)\n"
        "        return\n"
        "    if is_elsewhere(request):\n"
        "        reply(effects, request.lookup_error)\n"
        "        return\n"
        "    verdict = decide_join_group("
        "group, request.sender, request.version, _is_full(group, members, member, host))\n",
        after="    if is_elsewhere(request):\n"
        "        reply(effects, request.lookup_error)\n"
        "        return\n"
        "    verdict = decide_join_group("
        "group, request.sender, request.version, _is_full(group, members, member, host))\n"
        "    if terms.error != Error.NONE and verdict.error == Error.NONE:\n"
        "        verdict = terms\n",
        net=NEIGHBOURS,
    ),
    of_groups(
        sentence="a member that a full group does not take again stays in it",
        file="classic_group/joining.py",
        before="        remove(members, member)\n",
        after="        pass\n",
        net=NEIGHBOURS,
    ),
    of_groups(
        sentence="a heartbeat of a member that is to give something back is answered with the epoch of the assignment",
        file="consumer_group_member/reconciling.py",
        before="    effects.epoch = member.epoch\n",
        after="    effects.epoch = group.assignment_epoch\n",
        net=NEIGHBOURS,
    ),
    of_groups(
        sentence="what a member is to give back is free before it says that it has given it back",
        file="consumer_group_member/reconciling.py",
        before="        effects.revokes = event == ConsumerMemberEvent.REVOKE\n",
        after="        effects.revokes = False\n",
        net="tests/clients/test_consumer_protocol.py::test_nobody_gets_a_partition_before_its_owner_has_given_it_back",
    ),
    of_groups(
        sentence="the time in which a member has to give back begins anew with each of its heartbeats",
        file="consumer_group_member/reconciling.py",
        before="    effects.epoch = member.epoch\n",
        after="    if member.revoke_until_ms != NONE:\n"
        "        member.revoke_until_ms = host.now_ms + member.rebalance_timeout_ms\n"
        "    effects.epoch = member.epoch\n",
        net=NEIGHBOURS,
    ),
    of_groups(
        sentence="a static member that leaves its place has a session of its own from then on",
        file="consumer_group_member/heartbeat.py",
        before="        member.epoch = LEAVES_PLACE\n",
        after="        member.epoch = LEAVES_PLACE\n"
        "        member.session_until_ms = host.now_ms + host.session_timeout_ms\n",
        net=NEIGHBOURS,
    ),
    of_doors(
        "a connection forgets what has come on it",
        "connection/arriving.py",
        "    connection.state = move(notes, MachineIndex.CONNECTION, connection.state, reaction.event)",
        "    move(notes, MachineIndex.CONNECTION, connection.state, reaction.event)",
        "tests/broker/test_sessions.py::test_who_logs_in_sends_what_follows",
    ),
    of_doors(
        "who waits for a token is taken for one who has logged in",
        "connection/arriving.py",
        "    return connection.state == ConnectionState.AUTHENTICATED",
        "    return connection.state != ConnectionState.NEW",
        "tests/broker/test_sessions.py::test_a_mechanism_may_want_another_token",
    ),
    Fault(
        sentence="a delivery that finds its batch delivered delivers it again",
        file="delivery/steps.py",
        before="event = decide_found(int(delivery.purpose), found)",
        after="event = decide_found(int(delivery.purpose), 0)",
        scenario="spark_identity_sink",
        bounds="partitions=1 records=2 batch_records=2 second_drivers=0 timeouts=0 raised=0 lost=0 crashes=1 "
        "lost_checkpoints=0",
        breaks="no_record_is_in_the_output_twice",
        steps=16,
        net="tests/pipeline/test_sink.py::test_every_row_is_there_once_and_the_second_run_finds_it",
    ),
    Fault(
        sentence="a reader without a checkpoint begins as it is told, wherever its group is",
        file="micro_batch_reader/steps.py",
        before="return event == ReaderEvent.PLACE_AT_COMMITTED",
        after="return False",
        scenario="spark_batch_sink",
        bounds="partitions=1 records=2 batch_records=2 second_drivers=0 timeouts=0 raised=0 lost=0 crashes=1 "
        "lost_checkpoints=1",
        breaks="a_batch_is_all_or_nothing",
        steps=12,
        net="tests/pipeline/test_reader.py::test_without_a_checkpoint_it_begins_where_the_sink_has_committed",
    ),
    of_doors(
        "nobody is refused as a whole",
        "authorizing.py",
        "    error = request_rights.error_of_request(asked, rights)",
        "    error = int(Error.NONE)",
        RECORDINGS,
    ),
    of_doors(
        "no topic, id or group is refused in its row",
        "authorizing.py",
        "    error = request_rights.error_of_row(resource, is_allowed)",
        "    error = int(Error.NONE)",
        RECORDINGS,
    ),
    of_doors(
        "what nobody named is told to everybody",
        "authorizing.py",
        "    return request_rights.operation_on_told(api, resource)",
        "    return 0",
        RECORDINGS,
    ),
    of_doors(
        "entries that only imply a right count where some topic has to be writable",
        "authorizing.py",
        "    return authorization.is_of_operation(of_entry, asked)",
        "    return True",
        NEIGHBOURS,
    ),
)
