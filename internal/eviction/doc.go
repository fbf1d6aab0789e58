// Package eviction implements API-initiated evictions: it evicts a pod unless a disruption budget forbids it.
//
// engine/budget makes the decision from the budgets and pods that are stored now; displacement.Machine executes it. The
// debit of a budget is an update that fails if the budget has changed since it was read; the machine then decides again.
// So two requests, in this process or another, never use the same disruption. A failed eviction clears its condition
// and refunds its debits, unless another actor displaces or deletes the pod. The handler converts requests and the API's responses.
//
// The API server runs the handler on etcd, the simulator on its in-memory API.
package eviction
