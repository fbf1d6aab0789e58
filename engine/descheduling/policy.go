package descheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Policy is a compiled DeschedulerPolicy: defaults are filled in and it is valid
// (internal/config).
type Policy struct {
	// NodeSelector limits the nodes; nil selects all.
	NodeSelector *model.Selector
	Limits       Limits
	// Grace is the gracePeriodSeconds of all evictions; nil means the pod's own.
	Grace *int64
	// EvictionFailureEvents records an event for each failed eviction
	// (evictionFailureEventNotification).
	EvictionFailureEvents bool
	Profiles              []Profile
}

// UsesMetrics reports whether a strategy of the policy reads measured usage (Snapshot.Usage).
func (p *Policy) UsesMetrics() bool {
	for i := range p.Profiles {
		for _, s := range p.Profiles[i].Balance {
			if m, ok := s.(MetricsUser); ok && m.UsesMetrics() {
				return true
			}
		}
	}
	return false
}

// Limits are the numbers of pods that may be evicted in a run; nil means unlimited.
type Limits struct{ PerNode, PerNamespace, Total *int }

// Profile is a set of strategies with one evictor.
type Profile struct {
	Name       string
	Evictor    DefaultEvictorArgs
	Deschedule []Strategy // in the order in which they run
	Balance    []Strategy
}

// DefaultEvictorArgs are the arguments of DefaultEvictor; deprecated booleans are converted to
// protections.
type DefaultEvictorArgs struct {
	// NodeFit protects pods that fit on no other node.
	NodeFit           bool
	MinReplicas       int             // protects pods of owners with fewer pods; 0 and 1 protect none
	MinPodAge         time.Duration   // protects pods that started less than this ago; 0 protects none
	LabelSelector     *model.Selector // nil selects all
	NamespaceSelector *model.Selector // of the namespace's labels; nil selects all
	NodeSelector      *model.Selector // of the nodes that nodeFit considers; nil selects all
	// Priority is the lowest priority that ProtectSystemCritical protects.
	Priority PriorityThreshold
	// NoEvictionMandatory makes the annotation prefer-no-eviction binding.
	NoEvictionMandatory bool
	// Protections that are on by default.
	ProtectLocalStorage, ProtectDaemonSets, ProtectSystemCritical, ProtectFailedBare bool
	// Protections that are off by default.
	ProtectPVC, ProtectWithoutPDB, ProtectResourceClaims bool
	// ProtectedClasses limits ProtectPVC to claims of these storage classes; nil selects all.
	ProtectedClasses []string
}

// PriorityThreshold is the name of a PriorityClass or a value. If neither is set, it is that
// of system-cluster-critical.
type PriorityThreshold struct {
	Name  string
	Value *int32
}

// Namespaces limits a strategy; at most one list is set.
type Namespaces struct{ Include, Exclude []string }

// Has reports whether a namespace is selected.
func (n *Namespaces) Has(name string) bool {
	if len(n.Include) > 0 {
		return slices.Contains(n.Include, name)
	}
	return !slices.Contains(n.Exclude, name)
}
