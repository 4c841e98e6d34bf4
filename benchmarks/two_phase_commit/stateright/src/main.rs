//! Two-phase commit for Stateright: the same graph as zombieproof/checker/two_phase_commit/model.py.
//!
//!     two_phase MANAGERS
//!
//! Breadth first, on one thread. Sets of resource managers are bits of an integer. Prints the number of distinct
//! states; exit code 1 if a resource manager commits while another aborts.

use stateright::{Checker, Model, Property};

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Manager {
    Init,
    Committed,
    Aborted,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Resource {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    resources: Vec<Resource>,
    manager: Manager,
    prepared: u16,
    prepared_sent: u16,
    commit_sent: bool,
    abort_sent: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    Commit,
    Abort,
    ReceivePrepared(usize),
    Prepare(usize),
    ChooseToAbort(usize),
    ReceiveCommit(usize),
    ReceiveAbort(usize),
}

struct TwoPhase {
    managers: usize,
}

impl Model for TwoPhase {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            resources: vec![Resource::Working; self.managers],
            manager: Manager::Init,
            prepared: 0,
            prepared_sent: 0,
            commit_sent: false,
            abort_sent: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.manager == Manager::Init {
            if state.prepared == (1 << self.managers) - 1 {
                actions.push(Action::Commit);
            }
            actions.push(Action::Abort);
        }
        for i in 0..self.managers {
            if state.manager == Manager::Init && state.prepared_sent >> i & 1 == 1 {
                actions.push(Action::ReceivePrepared(i));
            }
            if state.resources[i] == Resource::Working {
                actions.push(Action::Prepare(i));
                actions.push(Action::ChooseToAbort(i));
            }
            if state.commit_sent {
                actions.push(Action::ReceiveCommit(i));
            }
            if state.abort_sent {
                actions.push(Action::ReceiveAbort(i));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Commit => {
                state.manager = Manager::Committed;
                state.commit_sent = true;
            }
            Action::Abort => {
                state.manager = Manager::Aborted;
                state.abort_sent = true;
            }
            Action::ReceivePrepared(i) => state.prepared |= 1 << i,
            Action::Prepare(i) => {
                state.resources[i] = Resource::Prepared;
                state.prepared_sent |= 1 << i;
            }
            Action::ChooseToAbort(i) | Action::ReceiveAbort(i) => state.resources[i] = Resource::Aborted,
            Action::ReceiveCommit(i) => state.resources[i] = Resource::Committed,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("consistent", |_, state: &State| {
            !(state.resources.contains(&Resource::Committed) && state.resources.contains(&Resource::Aborted))
        })]
    }
}

fn main() {
    let managers = std::env::args().nth(1).and_then(|given| given.parse().ok()).unwrap_or(0);
    if !(1..=13).contains(&managers) {
        eprintln!("usage: two_phase MANAGERS, from 1 to 13");
        std::process::exit(2);
    }
    let checker = TwoPhase { managers }.checker().threads(1).spawn_bfs().join();
    if checker.discovery("consistent").is_some() {
        println!("a resource manager commits while another aborts");
        std::process::exit(1);
    }
    println!("{} distinct", checker.unique_state_count());
}
