package descheduling

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// systemCritical is the value of the PriorityClass system-cluster-critical; system-node-critical is above it.
const systemCritical int32 = 2_000_000_000

// defaultEvictor is DefaultEvictor: what a profile protects.
type defaultEvictor struct {
	*DefaultEvictorArgs
	round *Round
	// threshold is the priority from which on pods are protected, where system-critical ones are.
	threshold int32
	nodes     []*Node // that nodeFit looks at
}

// newDefaultEvictor makes the evictor of a profile. Why is not empty if it cannot be made.
func newDefaultEvictor(r *Round, a *DefaultEvictorArgs) (e *defaultEvictor, why string) {
	e = &defaultEvictor{DefaultEvictorArgs: a, round: r, threshold: systemCritical}
	switch {
	case a.Priority.Value != nil:
		e.threshold = *a.Priority.Value
	case a.Priority.Name != "":
		v, there := r.Snapshot.Priorities[a.Priority.Name]
		if !there {
			return nil, fmt.Sprintf("priorityThreshold.name: there is no PriorityClass %q", a.Priority.Name)
		}
		e.threshold = v
	}
	if e.threshold > systemCritical {
		return nil, fmt.Sprintf("priorityThreshold: %d is above %d, from which on pods are critical to the system", e.threshold, systemCritical)
	}
	for _, n := range r.Snapshot.Nodes {
		if !n.NotReady && (a.NodeSelector == nil || a.NodeSelector.Matches(n.Labels)) {
			e.nodes = append(e.nodes, n)
		}
	}
	return e, ""
}

// filter says whether a pod may be evicted, but for where it could go.
func (e *defaultEvictor) filter(p *Pod) bool {
	f := p.Details
	if p.Expected {
		return false
	}
	if f.EvictAnyway {
		return true
	}
	switch {
	case e.NoEvictionMandatory && f.PreferNoEviction,
		p.Mirror, f.Static, p.Deleting,
		len(f.Owners) == 0 && (e.ProtectFailedBare || !isFailed(p)),
		e.ProtectDaemonSets && p.OwnedBy([]string{"DaemonSet"}),
		e.ProtectLocalStorage && f.LocalStorage,
		e.ProtectSystemCritical && f.HasPriority && p.Spec.Priority >= e.threshold,
		e.ProtectResourceClaims && f.ResourceClaims,
		e.LabelSelector != nil && !e.LabelSelector.Matches(p.Labels),
		e.ProtectPVC && e.usesProtectedClaim(p),
		e.isTooYoung(p), e.hasTooFewReplicas(p),
		e.ProtectWithoutPDB && !e.round.hasBudget(p):
		return false
	}
	return true
}

func isFailed(p *Pod) bool { return p.Phase == model.Failed }

// usesProtectedClaim says whether a pod has a volume of a protected storage class; a claim that is not there, or names no
// class, is taken for one.
func (e *defaultEvictor) usesProtectedClaim(p *Pod) bool {
	return slices.ContainsFunc(p.Details.Claims, func(claim string) bool {
		if len(e.ProtectedClasses) == 0 {
			return true
		}
		class := e.round.Snapshot.ClaimStorageClasses[p.Namespace+"/"+claim]
		return class == "" || slices.Contains(e.ProtectedClasses, class)
	})
}

// isTooYoung says whether a pod has not run for MinPodAge; one that does not say when it started is.
func (e *defaultEvictor) isTooYoung(p *Pod) bool {
	return e.MinPodAge > 0 && (p.Started.IsZero() || e.round.Snapshot.Now.Sub(p.Started) < e.MinPodAge)
}

// hasTooFewReplicas says whether the pod's only owner has fewer pods than MinReplicas.
func (e *defaultEvictor) hasTooFewReplicas(p *Pod) bool {
	return e.MinReplicas > 1 && len(p.Details.Owners) == 1 && e.round.ownerReplicas(p.Details.Owners[0].UID) < e.MinReplicas
}
