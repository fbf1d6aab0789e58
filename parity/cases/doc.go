// Package cases makes random clusters with one pending pod, from a seed.
//
// Command vectorgen evaluates them with kube-scheduler. A case is a vector without
// `expect`, in the schema of the recorded vectors. Each placement rule has a family in
// which it always applies. The other rules apply with a small probability, and with a
// larger one in the family "mixed". Values come from small sets, so that ties, near misses
// and malformed values are common, but the API server would admit every object. Family,
// seed and index determine a case.
package cases
