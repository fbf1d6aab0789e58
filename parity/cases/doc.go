// Package cases makes random clusters with one pending pod, from a seed.
//
// It is for package kube, which asks the real scheduler about them. A case is a
// vector without `expect`, in the schema of the recorded ones. Each rule of
// placement has a family in which it is always in play; the other rules join with a
// small probability, in the family "mixed" with a large one. Values come from small
// sets, so that ties, near misses and malformed parts are common, but only what the
// API server would admit is made. Invariant: family, seed and index determine a case.
package cases
