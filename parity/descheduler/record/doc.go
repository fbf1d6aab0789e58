// Command record runs a cycle of the Kubernetes descheduler, v0.36.0, many times on the snapshots
// of vectors. It writes the vectors with the outcome as their expectation.
//
//	gunzip -c random.jsonl.gz | go run ./record > random.jsonl
//
// Vectors are those of conformance/testdata/descheduler, one JSON object per line. Their
// previous expectation is not read. The informers of the descheduler return nodes and pods
// in random order. So the command runs a vector several times to find out which results
// vary: -sure times if all runs agree, otherwise -runs times.
//
// Loader, profiles, plugins and evictor are those of the descheduler, and the cluster is a
// fake clientset. A granted eviction removes the pod from the informer before it returns.
// All times are moved so that ages stay the same.
package main
