// Package nodeapi tests what the API server and the agents of nodes do together:
// logs, streams into containers, proxies, usage, over real TLS, with a container
// runtime whose containers do not really run. That they do is for package e2e.
package nodeapi
