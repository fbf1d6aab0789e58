// Package displacement runs the API server's handler of evictions (internal/eviction) on the in-memory API.
package displacement
