/* Two-phase commit for Spin: the same graph as zombieproof/checker/two_phase_commit/model.py.
 *
 * N resource managers, given as -DN=9. Sets of them are bits of an integer, so that no process needs a variable of
 * its own: a resource manager works unless it is in one of the three sets. What is one action there is one d_step
 * here. Partial order reduction has to be off (-DNOREDUCE): the states are counted.
 */
#define ALL ((1 << N) - 1)
#define ME (1 << (_pid - 1))
#define WORKS (((is_prepared | committed | aborted) & ME) == 0)

mtype = { INIT, COMMITTED, ABORTED };

mtype manager = INIT;
short is_prepared, committed, aborted;	/* what resource managers are */
short prepared;				/* what the transaction manager knows */
short prepared_sent;			/* messages, which are never taken away */
bool commit_sent, abort_sent;

active proctype TransactionManager()
{
end:	do
	:: d_step { manager == INIT && prepared == ALL -> manager = COMMITTED; commit_sent = true }
	:: d_step { manager == INIT -> manager = ABORTED; abort_sent = true }
	od
}

active [N] proctype ResourceManager()
{
end:	do
	:: d_step { manager == INIT && (prepared_sent & ME) -> prepared = prepared | ME }
	:: d_step { WORKS -> is_prepared = is_prepared | ME; prepared_sent = prepared_sent | ME }
	:: d_step { WORKS -> aborted = aborted | ME; assert(!(committed && aborted)) }
	:: d_step { commit_sent ->
		is_prepared = is_prepared & ~ME; aborted = aborted & ~ME; committed = committed | ME;
		assert(!(committed && aborted)) }
	:: d_step { abort_sent ->
		is_prepared = is_prepared & ~ME; committed = committed & ~ME; aborted = aborted | ME;
		assert(!(committed && aborted)) }
	od
}
