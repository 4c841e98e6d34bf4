"""Mistakes of the player: one text of it that says something else, and the test that notices.

Each is put into a copy of the package alone. Every kind of fault has one, and so have counting, reporting, judging.
"""

from typing import NamedTuple

KINDS = "tests/wire/plan/test_kinds.py::"
STORIES = "tests/wire/plan/test_stories.py::"
SOCKETS = "tests/wire/plan/test_sockets.py::"
PLUGIN = "tests/wire/plan/test_plugin.py::"
FILES = "tests/wire/plan/test_files.py::"


class Mutant(NamedTuple):
    """What is wrong; in which file of ``zombieproof``; a text that stands once there, the faulty one; the test."""

    sentence: str
    file: str
    before: str
    after: str
    net: str

    def __str__(self) -> str:
        return self.sentence


MUTANTS = (
    Mutant(
        "inject_error: one that comes after the effect has none",
        "wire/plan/play.py",
        "if effect is Effect.BEFORE:",
        "if effect is not None:",
        KINDS + "test_an_error_is_told_though_all_has_happened",
    ),
    Mutant(
        "inject_error: the answer is the brokers' own",
        "wire/plan/play.py",
        "self._answer_with(come, refusal(come.request, call.key, Error[does.error]), does.effect)",
        "hand_in(come)",
        KINDS + "test_an_error_is_told_and_nothing_happens",
    ),
    Mutant(
        "disconnect_on: the client is answered",
        "wire/plan/play.py",
        "self._answer_with(come, None, does.effect)",
        "hand_in(come)",
        KINDS + "test_the_connection_ends_before_or_after_the_effect",
    ),
    Mutant(
        "blackhole: the client is answered",
        "wire/plan/play.py",
        "if does.effect is Effect.AFTER:\n                    hand_in(replace(come, done=_nobody))",
        "if does.effect is Effect.AFTER:\n                    hand_in(come)",
        KINDS + "test_nobody_is_answered_in_a_black_hole",
    ),
    Mutant(
        "delay_on: nothing is held",
        "wire/plan/links.py",
        "        self._held.add(number)\n        self._play.wait",
        "        self._play.wait",
        KINDS + "test_a_request_waits_for_a_time",
    ),
    Mutant(
        "delay_on: an answer is not held",
        "wire/plan/play.py",
        "done=lambda answer: self.wait(fate, does.until, partial(done, answer))",
        "done=done",
        KINDS + "test_an_answer_waits_while_its_request_has_its_effect",
    ),
    Mutant(
        "delay_on: what waits for an answer goes on at the request",
        "wire/plan/player.py",
        "each.until.request is not None and each.is_behind == behind",
        "each.is_behind == behind",
        KINDS + "test_a_late_request_arrives_before_the_one_that_it_waits_for_and_behind_an_answer_that_it_waits_for",
    ),
    Mutant(
        "delay_on: a word is forgotten before something waits for it",
        "wire/plan/player.py",
        "        self.released.add(word)\n",
        "",
        KINDS + "test_a_request_waits_for_a_word_of_the_test",
    ),
    Mutant(
        "duplicate: there is no copy",
        "wire/plan/links.py",
        "copy = self._cluster.double(message)",
        "copy = message",
        KINDS + "test_a_request_comes_twice_and_is_stored_once",
    ),
    Mutant(
        "duplicate: a late copy is at once there",
        "wire/plan/links.py",
        "                self.hold(copy.number, fate, until)",
        "                pass",
        STORIES + "test_a_story_shows_what_it_says",
    ),
    Mutant(
        "reorder: nobody overtakes",
        "wire/plan/links.py",
        "            in_flight.remove(message)\n            in_flight.append(message)",
        "            pass",
        KINDS + "test_a_request_is_overtaken_by_the_next_of_its_kind",
    ),
    Mutant(
        "crash_broker: what was not on the disk is there when it comes back",
        "wire/plan/crashes.py",
        "self._kill(each.node, each.does, each.before if each.does.moment is Moment.BEFORE_FSYNC else {})",
        "self._kill(each.node, each.does, {})",
        KINDS + "test_a_broker_crashes_at_a_moment_of_a_request",
    ),
    Mutant(
        "crash_broker: it crashes before the append instead of after it",
        "wire/plan/crashes.py",
        "            if any(end != each.before.get(tp, 0) for tp, end in ends.items() if each.watches(tp)):",
        "            if ends:",
        KINDS + "test_a_broker_crashes_at_a_moment_of_a_request",
    ),
    Mutant(
        "crash_broker: it is back at once",
        "wire/plan/crashes.py",
        "if does.back == 0:",
        "if does.back != 'never':",
        KINDS + "test_a_broker_that_crashes_comes_back_after_a_time",
    ),
    Mutant(
        "crash_broker: its connections go on",
        "wire/server.py",
        "        for peer in [each for each in self.connections if each.node == node]:\n            peer.abandon()",
        "        return",
        SOCKETS + "test_all_connections_to_a_broker_that_crashes_end_and_none_is_taken_while_it_is_away",
    ),
    Mutant(
        "expire_transaction: time does not reach the time-out",
        "wire/plan/commands.py",
        "found.start_ms + found.timeout_ms + 1",
        "found.start_ms + found.timeout_ms - 1",
        KINDS + "test_a_transaction_expires",
    ),
    Mutant(
        "move_coordinator: that of the id moves instead of that of the group",
        "wire/plan/commands.py",
        "does.transactional_id or (None if does.group else call.transactional_id)",
        "does.transactional_id or call.transactional_id",
        KINDS + "test_the_coordinator_of_a_group_moves_behind_the_effect",
    ),
    Mutant(
        "move_leader: nobody is elected",
        "wire/plan/commands.py",
        "self._elect(does.partition or call.partitions[0], does.to)",
        "pass",
        KINDS + "test_a_leader_moves",
    ),
    Mutant(
        "skip_time: time stands still",
        "wire/plan/commands.py",
        "        clock.advance(milliseconds)\n",
        "",
        KINDS + "test_time_is_skipped",
    ),
    Mutant(
        "a command happens before the effect whatever it says",
        "wire/plan/play.py",
        "isinstance(does, Command) and does.effect is effect",
        "isinstance(does, Command) and effect is Effect.BEFORE",
        KINDS + "test_time_is_skipped_behind_the_effect",
    ),
    Mutant(
        "between brokers: what is lost arrives",
        "wire/plan/links.py",
        "            case DisconnectOn(effect=Effect.BEFORE):\n                self._cluster.lose(message)",
        "            case DisconnectOn(effect=Effect.BEFORE):\n                self._held.add(0)",
        KINDS + "test_a_verification_between_brokers_is_lost",
    ),
    Mutant(
        "between brokers: faults of clients are met",
        "wire/plan/player.py",
        "if call.sender is not wanted.asker:",
        "if call.sender is None:",
        KINDS + "test_what_brokers_ask_does_not_meet_faults_of_clients",
    ),
    Mutant(
        "when: on_call is one too late",
        "wire/plan/player.py",
        "if self.matched < first:",
        "if self.matched <= first:",
        KINDS + "test_a_fault_has_its_turns",
    ),
    Mutant(
        "which: the state is not looked at",
        "wire/plan/player.py",
        "if wanted.while_state is None:",
        "if wanted.while_state != '':",
        KINDS + "test_requests_are_chosen_by_the_state_of_their_id",
    ),
    Mutant(
        "which: nth counts requests that do not fit",
        "wire/plan/player.py",
        "        if not wrong:\n            self.fitting += 1\n            if self.requests.nth",
        "        self.fitting += 1\n        if not wrong:\n            if self.requests.nth",
        KINDS + "test_requests_are_chosen_by_partition_and_by_topic",
    ),
    Mutant(
        "which: a client on a socket has no name",
        "wire/peer.py",
        'asked.header.client_id or ""',
        '""',
        SOCKETS + "test_clients_are_told_apart_by_their_ids",
    ),
    Mutant(
        "trace: what fired is not in it",
        "wire/plan/play.py",
        "self.embedded.cluster.faulted(fault=",
        "dict(fault=",
        KINDS + "test_an_error_is_told_and_nothing_happens",
    ),
    Mutant(
        "report: what never fired is not told",
        "wire/plan/player.py",
        "            if not armed.fired\n",
        "            if armed.fired\n",
        KINDS + "test_a_fault_that_never_fired_tells_what_came_near",
    ),
    Mutant(
        "report: what never ended is not told",
        "wire/plan/player.py",
        "tuple(str(each) for each in self.waiting)",
        "()",
        KINDS + "test_what_waits_for_ever_is_told",
    ),
    Mutant(
        "legal: a version can be told any error",
        "wire/plan/legal.py",
        "request.version < legal[error]",
        "request.version < 0",
        FILES + "test_a_plan_that_cannot_be_is_refused_at_its_place",
    ),
    Mutant(
        "judge: the same input twice is nobody's fault",
        "bridge/applications.py",
        "if each.has_output and (goes_back or stands_still):",
        "if each.has_output and goes_back:",
        STORIES + "test_a_story_shows_what_it_says",
    ),
    Mutant(
        "judge: offsets outside of the transaction are nobody's fault",
        "bridge/applications.py",
        "if without and offset > 0",
        "if without and offset < 0",
        PLUGIN + "test_tests_end_as_their_applications_deserve",
    ),
    Mutant(
        "plugin: a plan that never fired does not fail",
        "bridge/under_test.py",
        'plan = "" if report.is_whole or not self.plan.faults else str(report)',
        'plan = ""',
        PLUGIN + "test_tests_end_as_their_applications_deserve",
    ),
    Mutant(
        "plugin: it imports brokers at once",
        "pytest_plugin.py",
        "import pytest\n\nif TYPE_CHECKING:",
        "import pytest\n\nimport zombieproof.wire.plan.parts\n\nif TYPE_CHECKING:",
        PLUGIN + "test_nothing_heavy_is_imported_before_a_test_asks_for_it",
    ),
)
