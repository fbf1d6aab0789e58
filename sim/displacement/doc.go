// Package displacement simulates how pods are displaced: the eviction API of the API server, and the
// order of writes of package executor (condition, event, deletion) for the actors that displace pods
// themselves.
package displacement
