// Package ui serves Berth's web page: the fleet, pods, the queue, displacements and disruption budgets of a cluster.
//
//	/ui/             the page: a bundle built from ui/web and embedded from ui/dist
//	/ui/session      POST exchanges the code of a one-time link for a session cookie
//	/ui/api/...      answers of the command line, as its JSON
//	/ui/cluster/...  lists and watches of the API server, from a fixed list of paths
//
// The server has no permissions. Each request for data uses the credentials of its user, and the API server decides:
// a bearer token that the request has, or the kubeconfig of the user who opened the one-time link. The page's
// origin differs from the API server's, so pages that pods serve through the API server's proxy cannot read its
// credentials.
package ui
