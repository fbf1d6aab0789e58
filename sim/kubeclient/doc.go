// Package kubeclient is a kubernetes.Interface over the simulated API server, for controllers that run in the
// simulator. A request of a controller waits in virtual time: it has latency, and faults of the world refuse,
// lose or delay it. Only the resources and methods that these controllers call are implemented; any other call panics.
//
// Returned objects belong to the store and are read-only, as those of a lister are. The client logs the timeline of
// workloads: created and deleted pods, created and scaled ReplicaSets.
package kubeclient
