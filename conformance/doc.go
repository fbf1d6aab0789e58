// Package conformance checks Berth against recordings of the Kubernetes components.
//
// The tests read vectors (one JSON object per line) from testdata, or from a directory given with
//
//	go test ./conformance -v -args -vectors DIR
//
// and print for each family how many passed and failed. TestAPI runs the API server as a separate process,
// because this package may not link it. TestScheduling, TestEviction and TestDescheduler call the engine
// directly. Other tests compare single plugins with the libraries that kube-scheduler uses, on random input.
//
// testdata/descheduler/random.jsonl.gz contains random snapshots with the evictions of the Kubernetes
// descheduler, which parity/descheduler/record recorded. Deliberate differences are listed by ID in
// docs/reference/differences.md, which the tests read.
package conformance
