// Package displacement runs the API server's eviction handler (internal/eviction) on the in-memory API, and simulates
// the order of writes of package executor (condition, event, deletion) for the actors that displace pods
// themselves.
package displacement
