// Package ui serves Berth's web page: the fleet, pods, the queue, displacements and disruption budgets of a cluster.
//
//	/ui/             the page: a bundle built from ui/web and embedded from ui/dist
//	/ui/session      POST exchanges the code of a one-time link for a session cookie
//	/ui/api/...      the JSON output of commands, once or, for Accept: text/event-stream, whenever it has changed
//	/ui/api/fleet    a stream of the changes of nodes and pods
//	/ui/api/history/ the data of earlier times from a recording
//	/ui/api/simulate POST runs a scenario and streams its states
//	/ui/cluster/...  lists and watches of the API server, from a fixed list of paths
//
// The server has no permissions. The API server authorizes each request for data as a request of its user. With a
// one-time link, this is the user of the kubeconfig. Otherwise it is the user of the request's bearer token or client
// certificate. As a front proxy, the server names the certificate's user in headers. The page and the API server have
// different origins, so pages that pods serve through the API server's proxy cannot read the page's credentials.
package ui
