// Package conformance checks Berth against recordings of the real components.
//
// It has no product code: the tests read vectors (one JSON object a line) from
// testdata, or from a folder given with
//
//	go test ./conformance -v -args -vectors DIR
//
// and print for each family how many passed and failed. TestAPI talks to the
// API server as a separate process, because nothing of this rank may link it;
// TestScheduling and TestDescheduler ask the engine directly. testdata/descheduler/random.jsonl.gz are
// snapshots drawn at random, with what parity/descheduler/record saw the real
// descheduler do with them. Deliberate differences are listed by
// id in docs/reference/differences.md, which the tests read.
package conformance
