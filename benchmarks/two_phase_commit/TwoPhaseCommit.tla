--------------------------- MODULE TwoPhaseCommit ---------------------------
(* Two-phase commit for TLC: the same graph as zombieproof/checker/two_phase_commit/model.py.
   Managers are numbers, so that TLC takes nothing as symmetric; one disjunct here is one action there. *)
EXTENDS Naturals

CONSTANT N
Managers == 1..N

VARIABLES is,        \* what each resource manager is
          decided,   \* what the transaction manager has decided
          prepared,  \* the resource managers that it knows to be prepared
          sent       \* messages, which are never taken away

vars == <<is, decided, prepared, sent>>

Init == /\ is = [rm \in Managers |-> "working"]
        /\ decided = "nothing"
        /\ prepared = {}
        /\ sent = {}

Commit == /\ decided = "nothing" /\ prepared = Managers
          /\ decided' = "commit" /\ sent' = sent \cup {[type |-> "commit"]}
          /\ UNCHANGED <<is, prepared>>

Abort == /\ decided = "nothing"
         /\ decided' = "abort" /\ sent' = sent \cup {[type |-> "abort"]}
         /\ UNCHANGED <<is, prepared>>

HearOf(rm) == /\ decided = "nothing" /\ [type |-> "prepared", rm |-> rm] \in sent
              /\ prepared' = prepared \cup {rm}
              /\ UNCHANGED <<is, decided, sent>>

Prepare(rm) == /\ is[rm] = "working"
               /\ is' = [is EXCEPT ![rm] = "prepared"]
               /\ sent' = sent \cup {[type |-> "prepared", rm |-> rm]}
               /\ UNCHANGED <<decided, prepared>>

GiveUp(rm) == /\ is[rm] = "working"
              /\ is' = [is EXCEPT ![rm] = "aborted"]
              /\ UNCHANGED <<decided, prepared, sent>>

Obey(rm, message, becomes) == /\ [type |-> message] \in sent
                              /\ is' = [is EXCEPT ![rm] = becomes]
                              /\ UNCHANGED <<decided, prepared, sent>>

Next == \/ Commit
        \/ Abort
        \/ \E rm \in Managers : \/ HearOf(rm)
                                \/ Prepare(rm)
                                \/ GiveUp(rm)
                                \/ Obey(rm, "commit", "committed")
                                \/ Obey(rm, "abort", "aborted")

Spec == Init /\ [][Next]_vars

Agreed == ~ \E a, b \in Managers : is[a] = "committed" /\ is[b] = "aborted"
=============================================================================
