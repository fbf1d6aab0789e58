// Command record runs a cycle of the Kubernetes descheduler, v0.36.0, on the snapshots of
// vectors, many times, and writes the vectors with the outcome as their expectation.
//
//	gunzip -c random.jsonl.gz | go run ./record > random.jsonl
//
// Vectors are those of conformance/testdata/descheduler, one JSON object per line. Their
// previous expectation is not read. Nodes and pods come out of the informers of the
// descheduler in random order, so a vector is run several times to find out what is
// random: -sure times if all runs agree, otherwise -runs times.
//
// As for the other vectors, the policy is loaded by the descheduler's own loader,
// profiles, plugins and evictor are its own, and the cluster is a fake clientset. A
// granted eviction removes the pod from the informer before it returns. All times are
// moved so that ages stay the same.
package main
