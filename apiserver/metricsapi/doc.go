// Package metricsapi answers metrics.k8s.io: what nodes and pods use now, for kubectl
// top and whoever else asks the API for it. It asks the agents of the nodes for
// their summaries when it is asked, some tens at once and each for some seconds at
// most, and remembers for a moment what they said.
//
// Invariants:
//
//   - Nobody asks, nothing runs: there is no loop.
//   - A node that does not answer in time is left out of lists; asked for by its
//     name it is an error that says why.
//   - Only pods that the API knows, by uid, are told of, to who may see them.
//
// Departures from Kubernetes: there it is an extra component (metrics-server) that
// collects from all nodes every 15 s and shows figures of that age. History
// is not kept, and nothing scales by it.
package metricsapi
