// Package execution executes a descheduling plan: for each move it reserves the node, evicts the
// pod, waits for its replacement and verifies where the replacement runs.
//
//	waiting ──▶ holding ──▶ evicting ──▶ terminating ──▶ replaced ──▶ placed ──▶ moved
//	   ▲ workload, budgets,    │ refused      │              │            │
//	   │ placement check       │              ▼              ▼            ▼
//	   └───────────────────────┘ retried   not replaced   unscheduled   elsewhere, returned, not Ready
//
// The Machine has the form Step(now, view) -> (actions, wake); the caller executes each action and
// reports its Result. The machine reads the cluster from a View. State that must survive a restart
// is in the API: evictions, and Holds. A new machine starts with a new plan and releases the Holds
// that a previous one left (holds.go).
//
// Invariants:
//
//   - NotFutile: no pod is evicted unless placement, on the current cluster with all moves in
//     progress applied, puts its replacement on another node; without a reservation it must be a
//     planned node.
//   - NotOvercommitted: the target node has capacity for the replacement beside the pods on it,
//     terminating ones included, and the other moves to it.
//   - OnePerWorkload: no pod of a workload is evicted while the replacement of another one is not
//     Ready.
//   - WithinBudget: no eviction is requested that the observed budgets, less the moves in
//     progress, do not allow.
//   - HoldsEnd: every Hold is deleted when it is used or its move has finished, and expires soon
//     afterwards in any case.
//
// Other packages decide which moves to make (planning), which pod may use a reservation (cluster,
// placement), and how actions are executed and recorded (controllers/descheduler).
package execution
