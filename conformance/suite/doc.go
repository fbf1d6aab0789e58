// Command suite runs Kubernetes' conformance suite against Berth: `make conformance`.
//
// It builds e2e.test, ginkgo and the test images' programs from the Go modules that e2e/go.mod pins, and berth from this
// module. It packs substitutes for the test images, serves those that specs always pull, and starts `berth up` with two
// virtual nodes. It runs the specs in batches, runs each failed spec again alone, and stores the results in
// results/RUNTIME.txt. docs/reference/conformance.md shows the results of all runtimes.
//
// The exit code is 0 if every spec passes that expected.go does not list.
package main
