// Package ui serves Berth's web page: the fleet, pods, the queue, displacements and disruption budgets of a cluster.
//
//	/ui/             the page: a bundle built from ui/web and embedded from ui/dist
//	/ui/session      POST exchanges the code of a one-time link for a session cookie
//	/ui/api/...      the JSON output of commands, once or, for Accept: text/event-stream, whenever it has changed
//	/ui/api/fleet    a stream of the changes of nodes and pods
//	/ui/api/simulate POST runs a scenario and streams its states
//	/ui/cluster/...  lists and watches of the API server, from a fixed list of paths
//
// The server has no permissions. Each request for data uses the credentials of its user, which the API server
// authorizes. They are the bearer token of the request, or the kubeconfig of the user who opened the one-time link.
// The page and the API server have different origins, so pages that pods serve through the API server's proxy cannot
// read the page's credentials.
package ui
