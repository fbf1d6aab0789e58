// Package fairness shares the server's capacity between users with API priority and fairness of
// k8s.io/apiserver.
//
// A request passes these steps after authorization:
//
//	read the body under a deadline -> wait for a seat in a priority level -> handler
//
// A slow client therefore holds a connection, but no seat. The size of each body is limited, and
// so is the total of a user's unfinished requests.
//
// Bootstrap creates upstream's bootstrap configuration and maintains it. It adds flow schemas for
// Berth's components.
//
// Difference from kube-apiserver: a request is authorized before it waits for a seat. Berth's
// authorizers do not wait for other systems.
package fairness
