package rebalance

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// systemCritical is the value of the PriorityClass system-cluster-critical; system-node-critical is above it.
const systemCritical int32 = 2_000_000_000

// evictor is DefaultEvictor: what a profile protects.
type evictor struct {
	*EvictorArgs
	round *Round
	// threshold is the priority from which on pods are protected, where system-critical ones are.
	threshold int32
	nodes     []*Node // that nodeFit looks at
}

// newEvictor makes the evictor of a profile. Why is not empty if it cannot be made.
func newEvictor(r *Round, a *EvictorArgs) (e *evictor, why string) {
	e = &evictor{EvictorArgs: a, round: r, threshold: systemCritical}
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

// lets says whether a pod may be evicted, but for where it could go.
func (e *evictor) lets(p *Pod) bool {
	f := p.Facts
	if p.Coming {
		return false
	}
	if f.EvictAnyway {
		return true
	}
	switch {
	case e.Mandatory && f.PreferNoEviction,
		p.Mirror, f.Static, p.Deleting,
		len(f.Owners) == 0 && (e.ProtectFailedBare || !failed(p)),
		e.ProtectDaemonSets && p.OwnedBy([]string{"DaemonSet"}),
		e.ProtectLocalStorage && f.LocalStorage,
		e.ProtectSystemCritical && f.HasPriority && p.Spec.Priority >= e.threshold,
		e.ProtectResourceClaims && f.ResourceClaims,
		e.LabelSelector != nil && !e.LabelSelector.Matches(p.Labels),
		e.ProtectPVC && e.claims(p),
		e.young(p), e.few(p),
		e.ProtectWithoutPDB && !e.round.budgeted(p):
		return false
	}
	return true
}

func failed(p *Pod) bool { return p.Phase == model.Failed }

// claims says whether a pod has a volume of a protected storage class; a claim that is not there, or names no
// class, is taken for one.
func (e *evictor) claims(p *Pod) bool {
	return slices.ContainsFunc(p.Facts.Claims, func(claim string) bool {
		if len(e.ProtectedClasses) == 0 {
			return true
		}
		class := e.round.Snapshot.Classes[p.Namespace+"/"+claim]
		return class == "" || slices.Contains(e.ProtectedClasses, class)
	})
}

// young says whether a pod has not run for MinPodAge; one that does not say when it started is.
func (e *evictor) young(p *Pod) bool {
	return e.MinPodAge > 0 && (p.Started.IsZero() || e.round.Snapshot.Now.Sub(p.Started) < e.MinPodAge)
}

// few says whether the pod's only owner has fewer pods than MinReplicas.
func (e *evictor) few(p *Pod) bool {
	return e.MinReplicas > 1 && len(p.Facts.Owners) == 1 && e.round.replicasOf(p.Facts.Owners[0].UID) < e.MinReplicas
}
