package descheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Policy is a DeschedulerPolicy, compiled: what an absent field means is filled in, and nothing in it
// contradicts anything else (internal/config).
type Policy struct {
	// NodeSelector limits the nodes; nil: all.
	NodeSelector *model.Selector
	Limits       Limits
	// Grace is gracePeriodSeconds of all evictions; nil: the pod's own.
	Grace *int64
	// EvictionFailureEvents: evictions that failed are told in events (evictionFailureEventNotification).
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

// Limits are how many pods may be evicted in a round; nil: as many as there are.
type Limits struct{ PerNode, PerNamespace, Total *int }

// Profile is a set of strategies with one evictor.
type Profile struct {
	Name       string
	Evictor    DefaultEvictorArgs
	Deschedule []Strategy // in the order in which they run
	Balance    []Strategy
}

// DefaultEvictorArgs are the arguments of DefaultEvictor, its old booleans folded into protections.
type DefaultEvictorArgs struct {
	NodeFit           bool
	MinReplicas       int
	MinPodAge         time.Duration
	LabelSelector     *model.Selector // nil: all
	NamespaceSelector *model.Selector // of the namespace's labels; nil: all
	NodeSelector      *model.Selector // of the nodes that nodeFit looks at; nil: all
	// Priority is that from which on pods are protected.
	Priority PriorityThreshold
	// NoEvictionMandatory: the annotation prefer-no-eviction is a command.
	NoEvictionMandatory bool
	// Protected by default:
	ProtectLocalStorage, ProtectDaemonSets, ProtectSystemCritical, ProtectFailedBare bool
	// Protected on request:
	ProtectPVC, ProtectWithoutPDB, ProtectResourceClaims bool
	// ProtectedClasses limits ProtectPVC to claims of these storage classes; nil: all.
	ProtectedClasses []string
}

// PriorityThreshold is a PriorityClass by name, or a value; neither: that of system-cluster-critical.
type PriorityThreshold struct {
	Name  string
	Value *int32
}

// Namespaces limits a strategy; at most one list is given.
type Namespaces struct{ Include, Exclude []string }

// Has says whether a namespace is within.
func (n *Namespaces) Has(name string) bool {
	if len(n.Include) > 0 {
		return slices.Contains(n.Include, name)
	}
	return !slices.Contains(n.Exclude, name)
}
