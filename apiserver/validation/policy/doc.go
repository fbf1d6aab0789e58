// Package policy has the defaulting, preparation and validation of PodDisruptionBudget,
// PriorityClass, RuntimeClass, Lease and Hold.
package policy
