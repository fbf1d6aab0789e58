// Package kubeclient has the clients of controllers that run in the simulator: kubernetes.Interface, Holds and metadata
// over the simulated API server. A request waits in virtual time: it has latency, and faults of the world refuse, lose or
// delay it. Only the resources and methods that these controllers call are implemented; any other call panics.
//
//	kinds, groups, metadata     the typed clients
//	resource, endpoint          requests about one kind
//	operation                   what several requests have in common: their cause and their lines in the timeline
//	patch, replace              what the API server does with patches and updates
//	faultkind, timeline         the request kind for faults; what the timeline shows
//
// The caller owns returned objects, like decoded responses of an API server.
package kubeclient
