// Package displacement runs the API server's eviction handler (internal/eviction) on the in-memory API. For actors that
// displace pods themselves, it simulates the order of writes of package executor: condition, event, deletion.
package displacement
