package model

import "strings"

// Resources are amounts of resources: requested, in use or allocatable.
type Resources struct {
	MilliCPU  int64 // thousandths of a core
	Memory    int64 // bytes
	Ephemeral int64 // bytes of ephemeral storage
	Scalars   []Scalar
}

// Scalar is an amount of an extended resource or of huge pages (bytes).
type Scalar struct {
	Name   string
	Amount int64
}

// Scalar returns the amount of a scalar resource, 0 if it is not set.
func (r *Resources) Scalar(name string) int64 {
	for i := range r.Scalars {
		if r.Scalars[i].Name == name {
			return r.Scalars[i].Amount
		}
	}
	return 0
}

// Amount returns the amount of a resource by its API name, except for pods.
func (r *Resources) Amount(name string) int64 {
	switch name {
	case "cpu":
		return r.MilliCPU
	case "memory":
		return r.Memory
	case "ephemeral-storage":
		return r.Ephemeral
	}
	return r.Scalar(name)
}

// IsZero reports whether all amounts are zero.
func (r *Resources) IsZero() bool {
	if r.MilliCPU != 0 || r.Memory != 0 || r.Ephemeral != 0 {
		return false
	}
	for i := range r.Scalars {
		if r.Scalars[i].Amount != 0 {
			return false
		}
	}
	return true
}

// IsExtendedResource reports whether a resource name has a domain other than
// kubernetes.io.
func IsExtendedResource(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/") && !strings.HasPrefix(name, "requests.")
}
