// Package workloadtest runs workload controllers in tests: a fake API server in virtual time with nodes that run
// the created pods.
package workloadtest
