// Package localcluster composes a cluster in one process: API server, scheduler,
// controllers, simulated nodes and storage. `berth up`, `berth demo` and package
// berthtest use it.
//
// Each component connects to the API server in process, as its own user, so RBAC
// applies. A component runs in the rungroup.Group of its caller and ends with it.
package localcluster
