// Command record has the real descheduler, v0.36.0, run a cycle over the snapshots of vectors, many times, and writes
// the vectors with what came of it as their expectation.
//
//	gunzip -c random.jsonl.gz | go run ./record > random.jsonl
//
// Vectors are those of conformance/testdata/descheduler, one JSON object a line; the expectation that they come with
// is not read. Nodes and pods come out of the descheduler's informers in random order, so a vector is run until it is
// plain what is chance: -sure times if every run did the same, -runs times if not.
//
// As for the other vectors, the policy goes through the descheduler's own loader, profiles, plugins and evictor are its
// own, and the cluster is a fake clientset; an eviction that is granted takes the pod out of the informer
// before it returns. Ages are kept by moving all times along to now.
package main
