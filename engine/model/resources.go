package model

import "strings"

// Resources are amounts of resources: asked for by a pod, used on a node, or
// allocatable there.
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

// Scalar returns the amount of the named scalar resource, 0 when absent.
func (r *Resources) Scalar(name string) int64 {
	for i := range r.Scalars {
		if r.Scalars[i].Name == name {
			return r.Scalars[i].Amount
		}
	}
	return 0
}

// Amount is the amount of a resource by its name in the API; of pods nothing is said here.
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

// IsZero says that nothing is asked for.
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

// IsExtendedResource says whether a resource name is an extended one (it has a domain
// that does not end in kubernetes.io), as opposed to cpu, memory, hugepages-*.
func IsExtendedResource(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/") && !strings.HasPrefix(name, "requests.")
}
