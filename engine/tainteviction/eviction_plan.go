package tainteviction

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Options of a machine.
type Options struct {
	// FixedDueTime keeps a pod's moment once it is set, as Kubernetes does, until no taint
	// would drive the pod out.
	FixedDueTime bool
	// NumericTolerations lets the operators Gt and Lt bear taints.
	NumericTolerations bool
	// StartupGrace is how long after its start the machine does not trust taints of
	// lost nodes that are older than it is.
	StartupGrace time.Duration
}

// Pod is what is read of a pod that is bound.
type Pod struct {
	Namespace, Name, UID string
	Node                 string
	Bound                time.Time // when it came to its node; zero: when it is seen first
	Deleting             bool
	Tolerations          []model.Toleration
}

// PodOf is what is read of a pod. It is bound since PodScheduled is true, or else since it
// was started, or made.
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

// Key is "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// effectiveTaint is a NoExecute taint, and from when it counts.
type effectiveTaint struct {
	model.TimedTaint
	from time.Time
	// untrusted: it is a lost node's, and older than the machine.
	untrusted bool
}

// evictionPlan is what the taints of its node mean for a pod.
type evictionPlan struct {
	evict     bool // false: it stays, as far as taints go
	due       time.Time
	taint     effectiveTaint // by which it is due
	tolerated bool
	seconds   int64 // for which the taint is borne
}

// planEviction says what taints mean for a pod that was bound at a time.
func planEviction(tolerations []model.Toleration, bound time.Time, taints []effectiveTaint, o Options, started time.Time) evictionPlan {
	var f evictionPlan
	for i := range taints {
		t := &taints[i]
		next := evictionPlan{evict: true, taint: *t, due: maxTime(t.from, bound)}
		if tol := matchingToleration(tolerations, &t.Taint, o.NumericTolerations); tol != nil {
			if tol.Seconds == nil {
				continue
			}
			next.tolerated, next.seconds = true, max(*tol.Seconds, 0)
			next.due = addSeconds(next.due, next.seconds)
		}
		if t.untrusted {
			next.due = maxTime(next.due, started.Add(o.StartupGrace))
		}
		if !f.evict || next.due.Before(f.due) {
			f = next
		}
	}
	return f
}

// matchingToleration is the first toleration that bears a taint, nil when none does.
func matchingToleration(list []model.Toleration, t *model.Taint, numeric bool) *model.Toleration {
	for i := range list {
		if list[i].ToleratesTaint(t, numeric) {
			return &list[i]
		}
	}
	return nil
}

// maxSeconds is a toleration above which it makes no difference.
const maxSeconds = int64(100 * 365 * 24 * 3600)

func addSeconds(t time.Time, seconds int64) time.Time {
	return t.Add(time.Duration(min(seconds, maxSeconds)) * time.Second)
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
