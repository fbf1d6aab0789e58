package tainteviction

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// Options configure a Machine.
type Options struct {
	// FrozenDeadline keeps a pod's due time once it is set, as Kubernetes does, until no taint evicts
	// the pod.
	FrozenDeadline bool
	// NumericTolerations enables the toleration operators Gt and Lt.
	NumericTolerations bool
	// StartupGrace is how long after its start the machine ignores older taints of nodes that are not
	// ready.
	StartupGrace time.Duration
}

// Pod holds the properties of a bound pod that taint eviction depends on.
type Pod struct {
	Namespace, Name, UID string
	Node                 string
	Bound                time.Time // when it was bound; zero: when it is first observed
	Deleting             bool
	Tolerations          []model.Toleration
}

// PodOf converts a pod. It is bound since PodScheduled became True, or else since it was started or
// created.
func PodOf(p *model.Pod) Pod {
	out := Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.NodeName, Deleting: p.Deleting}
	if p.Spec != nil {
		out.Tolerations = p.Spec.Tolerations
	}
	switch {
	case !p.Scheduled.IsZero():
		out.Bound = p.Scheduled
	case !p.Started.IsZero():
		out.Bound = p.Started
	default:
		out.Bound = p.Created
	}
	return out
}

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// effectiveTaint is a NoExecute taint and the time since which it counts.
type effectiveTaint struct {
	model.TimedTaint
	since time.Time
	// untrusted is set for the taint of a node that is not ready, if the taint is older than the machine.
	untrusted bool
}

// evictionPlan is the effect of a node's taints on a pod.
type evictionPlan struct {
	evict     bool // false: the pod stays
	due       time.Time
	taint     effectiveTaint // the taint that determines due
	tolerated bool
	seconds   int64 // for which the taint is tolerated
}

// planEviction computes the effect of taints on a pod that was bound at the given time.
func planEviction(tolerations []model.Toleration, bound time.Time, taints []effectiveTaint, o Options, started time.Time) evictionPlan {
	var plan evictionPlan
	for i := range taints {
		t := &taints[i]
		next := evictionPlan{evict: true, taint: *t, due: order.Max(t.since, bound)}
		if tol := matchingToleration(tolerations, &t.Taint, o.NumericTolerations); tol != nil {
			if tol.Seconds == nil {
				continue
			}
			next.tolerated, next.seconds = true, max(*tol.Seconds, 0)
			next.due = addSeconds(next.due, next.seconds)
		}
		if t.untrusted {
			next.due = order.Max(next.due, started.Add(o.StartupGrace))
		}
		if !plan.evict || next.due.Before(plan.due) {
			plan = next
		}
	}
	return plan
}

// matchingToleration returns the first toleration that tolerates a taint, or nil.
func matchingToleration(list []model.Toleration, t *model.Taint, numeric bool) *model.Toleration {
	for i := range list {
		if list[i].ToleratesTaint(t, numeric) {
			return &list[i]
		}
	}
	return nil
}

// maxSeconds caps tolerations so that times do not overflow.
const maxSeconds = int64(100 * 365 * 24 * 3600)

func addSeconds(t time.Time, seconds int64) time.Time {
	return t.Add(time.Duration(min(seconds, maxSeconds)) * time.Second)
}
