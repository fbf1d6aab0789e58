// Package execution carries out a plan: it says what to do next so that each move of it comes to what was
// previewed, and the result of each.
//
//	waiting ──▶ holding ──▶ held ──▶ evicting ──▶ leaving ──▶ replaced ──▶ placed ──▶ moved
//	   ▲ pacing, budgets,      │        │ refused      │ (gone)     │             │
//	   │ the place as it is    │        ▼              ▼            ▼             ▼
//	   └───────────────────────┴─ asked again      nothing came   waits, or    elsewhere, returned (remembered),
//	                              in a while                    RETURNED      not Ready
//
// The form is Step(now, view) -> actions, wake; each action gets an Answer. What it knows of the cluster is the
// View; what it must not lose is in the API: evictions done are done, and Holds are objects. So a new
// machine begins with a new plan, and ends the Holds that a former one has left (sweep.go).
//
// Invariants:
//
//   - NotInVain: no pod is evicted unless, on the cluster as it is then with all moves in progress recorded,
//     placement puts its replacement on another node, and that a planned one where the place cannot be held.
//   - NothingTwicePromised: the node has capacity for it beside the pods that are there, those that leave
//     included, and the moves in progress to it.
//   - OneOfAWorkload: no pod of a workload is evicted while the replacement of another one is not Ready.
//   - WithinBudget: no eviction is asked for that the budgets as seen, less what is in progress, do not allow.
//   - HoldsEnd: every Hold that is made is deleted once it is used up or its move is over, and has an end of
//     its own soon after that.
//
// Decided elsewhere: which moves there are (plan); whose replacement takes the held place (cluster,
// placement); how an action is carried out and recorded (the shell).
package execution
