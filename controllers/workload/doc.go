// Package workload provides what the workload controllers share. It claims the pods of an owner, tracks writes
// that are not in the cache yet, and creates and deletes pods.
//
// engine/workload makes the decisions. A controller gets the pods of an owner (Claim), passes them to
// Plan, and executes the result (Create, Delete).
//
// A lagging cache does not lead to duplicates. A created pod is counted immediately, and a deleted pod counts as
// deleted until the cache shows it. If the response to a create is lost, the pod is counted, too. The controller chose
// its name and can read it from the API server. Kubernetes instead counts expected events, which expire after five
// minutes if one is missed. If the cache does not show a pod after ten seconds, this package reads the pod from the API
// server.
//
// An owner adopts pods that its selector matches and that have no controller. It releases pods that its
// selector no longer matches. It does neither while it is being deleted according to the API server.
package workload
