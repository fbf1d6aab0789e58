// Package planning decides which of a descheduler's candidates move, and where to: it is the Mover of
// planned mode. A candidate becomes a move only if the scheduler's own placement says so.
//
//	candidate ──▶ worth asking? ──▶ removed on the fork ──▶ placement ──▶ another node? ──▶ goal closer? ──▶ budgets ──▶ recorded
//	                  │                                        │              │                  │              │
//	                  └───────────────┬────────────────────────┴──────────────┴──────────────────┴──────────────┘
//	                                  ▼
//	                    refused, with why; the fork is as it was
//
// The fork is a copy of the cluster on which all moves accepted so far are recorded: the pod is off its
// node, and what will stand for it is on the other. So no room is promised twice, and what a later move
// finds is what the earlier ones leave. A move into room that an earlier one frees is possible only
// after that: carry checks each move again on the cluster as it is when its turn comes, and has it wait.
//
// Where places can be held (Held), the node among equals is known, since ties go by the owner's
// UID; the scheduler takes the held node first. So a node that is to be emptied can be closed to all that moves
// (Close), though the scheduler may like it best. Where not (Unheld), every node of
// the highest total must be another one and serve the goal, with the leaving pod still there and without
// it, and Holds are not asked about, as the scheduler does not know them.
//
// Invariants:
//
//   - NotInVain: no move is planned whose pod placement would put back (were its node not closed, as the place is
//     held), whose strategy's goal it does not bring closer, or that came back not long ago (Memory, or an Avoid Hold of cause Rebalance).
//   - NothingTwicePromised: what is recorded on a node fits there together.
//   - AsItWas: a refused candidate, and one of a group that did not come about, leaves no trace on the fork.
//   - AllRefusalsCounted: each refusal is counted by its kind; as many as Options.Keep are kept whole.
//
// Departures from the Kubernetes descheduler, which has nothing of all this: pods that nothing would
// replace stay even if the evictor lets them go, but for finished ones, which take no room.
package planning
