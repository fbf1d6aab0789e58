// Package nodeapi tests the API server together with the agents of nodes: logs, streams into containers,
// proxies and usage. It uses TLS and a fake container runtime. Package e2e tests real containers.
package nodeapi
