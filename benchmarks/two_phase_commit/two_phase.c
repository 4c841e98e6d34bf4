/* Two-phase commit by hand: breadth first over states packed into one word, a table with linear probing.
 *
 *     two_phase MANAGERS [prefetch]
 *
 * The same graph as zombieproof/checker/two_phase_commit/model.py. Prints distinct, generated states and the depth;
 * exit code 1 if a resource manager commits while another aborts. With `prefetch` the slots of all successors of a
 * few states are asked for before the first of them is looked at.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKING, PREPARED, COMMITTED, ABORTED };
enum { INIT = 0, DECIDED_COMMIT = 1, DECIDED_ABORT = 2 };
enum { MOST_MANAGERS = 13, PARENTS_AT_ONCE = 32 };

/* From the lowest bit: resources (2 bits each), prepared, prepared_sent (1 each), manager (2), commit, abort sent. */
static int n;
static uint64_t all, manager_at, prepared_at, sent_at, commit_sent, abort_sent, low;

static uint64_t *table, slots, *states, count, room;

static void *checked(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "two_phase: no memory\n");
        exit(70);
    }
    return memory;
}

static uint64_t slot_of(uint64_t state) {
    uint64_t h = state * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 29) & (slots - 1);
}

static void put(uint64_t state) {
    uint64_t at = slot_of(state);
    while (table[at]) at = (at + 1) & (slots - 1);
    table[at] = state + 1;
}

static void grow(void) {
    free(table);
    slots *= 2;
    table = checked(calloc(slots, sizeof *table));
    for (uint64_t i = 0; i < count; i++) put(states[i]);
}

static int is_broken(uint64_t state) {
    uint64_t high = state >> 1 & low, is_low = state & low;
    return (high & ~is_low) && (high & is_low);
}

static void visit(uint64_t state) {
    uint64_t at = slot_of(state);
    for (; table[at]; at = (at + 1) & (slots - 1))
        if (table[at] == state + 1) return;
    if (is_broken(state)) {
        printf("a resource manager commits while another aborts\n");
        exit(1);
    }
    table[at] = state + 1;
    if (count == room) states = checked(realloc(states, (room *= 2) * sizeof *states));
    states[count++] = state;
    if (count > slots / 8 * 5) grow();
}

static uint64_t with_resource(uint64_t state, int i, uint64_t now) {
    return (state & ~(UINT64_C(3) << 2 * i)) | now << 2 * i;
}

static int successors(uint64_t state, uint64_t *next) {
    int found = 0;
    uint64_t manager = state >> manager_at & 3, prepared = state >> prepared_at & all, sent = state >> sent_at & all;
    if (manager == INIT) {
        if (prepared == all) next[found++] = state | (uint64_t)DECIDED_COMMIT << manager_at | commit_sent;
        next[found++] = state | (uint64_t)DECIDED_ABORT << manager_at | abort_sent;
    }
    for (int i = 0; i < n; i++) {
        if (manager == INIT && sent >> i & 1) next[found++] = state | UINT64_C(1) << (prepared_at + i);
        if ((state >> 2 * i & 3) == WORKING) {
            next[found++] = with_resource(state, i, PREPARED) | UINT64_C(1) << (sent_at + i);
            next[found++] = with_resource(state, i, ABORTED);
        }
        if (state & commit_sent) next[found++] = with_resource(state, i, COMMITTED);
        if (state & abort_sent) next[found++] = with_resource(state, i, ABORTED);
    }
    return found;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    if (n < 1 || n > MOST_MANAGERS || argc > 3 || (argc == 3 && strcmp(argv[2], "prefetch"))) {
        fprintf(stderr, "usage: two_phase MANAGERS [prefetch], with 1 to %d managers\n", MOST_MANAGERS);
        return 2;
    }
    int prefetches = argc == 3;
    all = (UINT64_C(1) << n) - 1;
    prepared_at = 2 * n, sent_at = 3 * n, manager_at = 4 * n;
    commit_sent = UINT64_C(1) << (4 * n + 2), abort_sent = commit_sent << 1;
    for (int i = 0; i < n; i++) low |= UINT64_C(1) << 2 * i;
    slots = 1 << 16, room = 1 << 16;
    table = checked(calloc(slots, sizeof *table));
    states = checked(malloc(room * sizeof *states));
    visit(0);
    uint64_t next[PARENTS_AT_ONCE * (2 + 4 * MOST_MANAGERS)], generated = 0, depth = 0;
    for (uint64_t level = 0, end = count; level < end; depth += end < count, level = end, end = count)
        for (uint64_t at = level; at < end;) {
            int found = 0, parents = prefetches ? PARENTS_AT_ONCE : 1;
            for (; parents > 0 && at < end; parents--) found += successors(states[at++], next + found);
            if (prefetches)
                for (int i = 0; i < found; i++) __builtin_prefetch(&table[slot_of(next[i])], 1);
            for (int i = 0; i < found; i++) visit(next[i]);
            generated += found;
        }
    printf("%llu distinct, %llu generated, depth %llu\n", (unsigned long long)count, (unsigned long long)generated,
           (unsigned long long)depth);
    return 0;
}
