// Package metricsserver serves health checks, metrics, configuration and debugging data over HTTPS.
//
//	/livez /healthz /readyz   no authentication
//	all other paths           a bearer token of a user who may get the path
//
// Tokens are reviewed by the API server, a few at a time, so that unauthenticated requests cost it little. The
// certificate is self-signed, as for Kubernetes components without a configured one.
package metricsserver
