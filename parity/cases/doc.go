// Package cases makes random clusters with one pending pod, from a seed.
//
// Package vectorgen evaluates them with kube-scheduler. A case is a vector without
// `expect`, in the schema of the recorded ones. Each rule of placement has a family in
// which it always applies. The other rules apply with a small probability, in the family
// "mixed" with a large one. Values come from small sets, so that ties, near misses and
// malformed parts are common, but only what the API server would admit is generated.
// Family, seed and index determine a case.
package cases
