// Package quick builds the specs of the batch "quick" as a test program: Kubernetes' e2e.test with fewer packages, which
// takes half of the time to compile.
package quick
