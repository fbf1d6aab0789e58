// Package nodeapi tests the API server and the agents of nodes together: logs, streams
// into containers, proxies, usage, with real TLS and a fake container runtime. Package e2e
// tests real containers.
package nodeapi
