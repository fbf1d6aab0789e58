// Package metricsserver is where a part of Berth tells about itself over HTTPS: whether it is alive and ready, to everybody;
// its metrics, its configuration and more to those whom the API server lets get the path.
//
//	/livez /healthz /readyz   anybody
//	all else                  a bearer token that the API server knows, of a user who may get that path
//
// Callers are looked up at the API server, a few at a time, so that a flood of strangers costs it little. The certificate is
// made for the process, as those of the stock components are when they are given none.
package metricsserver
