package descheduling

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// defaultEvictor is the DefaultEvictor plugin: it decides which pods a profile protects.
type defaultEvictor struct {
	*DefaultEvictorArgs
	round *Round
	// threshold is the lowest priority that ProtectSystemCritical protects.
	threshold int32
	nodes     []*Node // considered by nodeFit
}

// newDefaultEvictor returns the evictor of a profile, or the reason why it cannot be created.
func newDefaultEvictor(r *Round, a *DefaultEvictorArgs) (e *defaultEvictor, reason string) {
	e = &defaultEvictor{DefaultEvictorArgs: a, round: r, threshold: model.SystemCriticalPriority}
	switch {
	case a.Priority.Value != nil:
		e.threshold = *a.Priority.Value
	case a.Priority.Name != "":
		v, found := r.Snapshot.Priorities[a.Priority.Name]
		if !found {
			return nil, fmt.Sprintf("priorityThreshold.name: PriorityClass %q does not exist", a.Priority.Name)
		}
		e.threshold = v
	}
	if e.threshold > model.SystemCriticalPriority {
		return nil, fmt.Sprintf("priorityThreshold: %d is above %d, the priority of system-critical pods", e.threshold, model.SystemCriticalPriority)
	}
	for _, n := range r.Snapshot.Nodes {
		if !n.NotReady && (a.NodeSelector == nil || a.NodeSelector.Matches(n.Labels)) {
			e.nodes = append(e.nodes, n)
		}
	}
	return e, ""
}

// filter reports whether p may be evicted, regardless of where it could run instead.
func (e *defaultEvictor) filter(p *Pod) bool {
	d := p.Details
	if p.Expected {
		return false
	}
	if d.EvictAnyway {
		return true
	}
	switch {
	case e.NoEvictionMandatory && d.PreferNoEviction,
		p.Mirror, d.Static, p.Deleting,
		len(d.Owners) == 0 && (e.ProtectFailedBare || !isFailed(p)),
		e.ProtectDaemonSets && p.OwnedBy([]string{"DaemonSet"}),
		e.ProtectLocalStorage && d.LocalStorage,
		e.ProtectSystemCritical && d.HasPriority && p.Spec.Priority >= e.threshold,
		e.ProtectResourceClaims && d.ResourceClaims,
		e.LabelSelector != nil && !e.LabelSelector.Matches(p.Labels),
		e.ProtectPVC && e.usesProtectedClaim(p),
		e.isTooYoung(p), e.hasTooFewReplicas(p),
		e.ProtectWithoutPDB && !e.round.hasBudget(p):
		return false
	}
	return true
}

func isFailed(p *Pod) bool { return p.Phase == model.Failed }

// usesProtectedClaim reports whether p uses a claim of a protected storage class. Without
// ProtectedClasses all are protected. A claim that does not exist or has no class counts as
// protected.
func (e *defaultEvictor) usesProtectedClaim(p *Pod) bool {
	return slices.ContainsFunc(p.Details.Claims, func(claim string) bool {
		if len(e.ProtectedClasses) == 0 {
			return true
		}
		class := e.round.Snapshot.ClaimStorageClasses[p.Namespace+"/"+claim]
		return class == "" || slices.Contains(e.ProtectedClasses, class)
	})
}

// isTooYoung reports whether p has run for less than MinPodAge. A pod without a start time is
// too young.
func (e *defaultEvictor) isTooYoung(p *Pod) bool {
	return e.MinPodAge > 0 && (p.Started.IsZero() || e.round.Snapshot.Now.Sub(p.Started) < e.MinPodAge)
}

// hasTooFewReplicas reports whether the only owner of p has fewer pods than MinReplicas.
func (e *defaultEvictor) hasTooFewReplicas(p *Pod) bool {
	return e.MinReplicas > 1 && len(p.Details.Owners) == 1 && e.round.ownerReplicas(p.Details.Owners[0].UID) < e.MinReplicas
}
