package drain

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// Outcome is the result for a pod of a drained node.
type Outcome string

// The outcomes.
const (
	OutcomeMoved       Outcome = "moved"       // its replacement is scheduled
	OutcomeRemoved     Outcome = "removed"     // it has no replacement
	OutcomePending     Outcome = "pending"     // its replacement is pending
	OutcomeBlocked     Outcome = "blocked"     // it is not evicted
	OutcomeTerminating Outcome = "terminating" // it was terminating before, or is evicted and not deleted yet
)

// Result is the result of a drain.
type Result struct {
	Nodes   []string     `json:"nodes"`
	Rounds  int          `json:"rounds"`
	Pods    []Pod        `json:"pods"` // in the order of eviction; blocked ones last
	Skipped []SkippedPod `json:"skipped,omitempty"`
	// Preempted are pods on other nodes that replacements preempt.
	Preempted []PreemptedPod `json:"preempted,omitempty"`
	// Interrupted is set if the drain ended early, for example by Ctrl-C.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Pod is the result for a pod of a drained node.
type Pod struct {
	Pod     string  `json:"pod"` // namespace/name
	UID     string  `json:"uid,omitempty"`
	Owner   string  `json:"owner,omitempty"` // kind and name of its controller
	From    string  `json:"from"`
	Outcome Outcome `json:"outcome"`
	Round   int     `json:"round,omitempty"`
	To      string  `json:"to,omitempty"` // node of its replacement
	// Replacement is the pod that replaces it; empty in a preview.
	Replacement string `json:"replacement,omitempty"`
	Ready       bool   `json:"ready,omitempty"` // the replacement is Ready
	Surged      bool   `json:"surged,omitempty"`
	// Deleted is set if a terminating pod is deleted.
	Deleted bool `json:"deleted,omitempty"`
	// Uncertain is set if the result depends on timing because pods of equal priority compete for the same capacity.
	Uncertain bool `json:"uncertain,omitempty"`
	// FirstBlock is its first block, Block the current one.
	FirstBlock *evacuation.Block `json:"firstBlock,omitempty"`
	Block      *evacuation.Block `json:"block,omitempty"`
	// PendingReason is why the replacement is pending. Permanent is set if no node could run it, even
	// without other pods, until Field of the pod changes. Suggestions would make it schedulable.
	PendingReason string   `json:"pendingReason,omitempty"`
	Permanent     bool     `json:"permanent,omitempty"`
	Field         string   `json:"field,omitempty"`
	Suggestions   []string `json:"suggestions,omitempty"`
}

// SkippedPod is a pod that the drain does not evict.
type SkippedPod struct {
	Pod    string                `json:"pod"`
	Node   string                `json:"node"`
	Reason evacuation.SkipReason `json:"reason"`
}

// PreemptedPod is a pod on another node that a replacement preempts.
type PreemptedPod struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	By   string `json:"preemptor"`
}

// ExitCode returns 0 if all pods moved or are deleted, 3 if some are pending, blocked or
// terminating, and 4 if some can never move.
func (r *Result) ExitCode() int {
	code := 0
	for i := range r.Pods {
		switch p := &r.Pods[i]; {
		case p.Permanent || p.Block != nil && p.Block.Permanent:
			return 4
		case p.Outcome == OutcomePending || p.Outcome == OutcomeBlocked || p.isTerminating():
			code = 3
		}
	}
	return code
}

// NumNotMoved returns the number of pods that are blocked or terminating, or whose replacement is pending.
func (r *Result) NumNotMoved() int {
	n := r.Count(OutcomePending) + r.Count(OutcomeBlocked)
	for i := range r.Pods {
		if r.Pods[i].isTerminating() {
			n++
		}
	}
	return n
}

// isTerminating reports whether the pod is terminating and not deleted yet.
func (p *Pod) isTerminating() bool { return p.Outcome == OutcomeTerminating && !p.Deleted }

// CannotProgress reports whether waiting cannot help: all remaining pods are blocked
// permanently, directly or by a replacement that can never be scheduled. Call explain first.
func (r *Result) CannotProgress() bool {
	permanent := map[string]bool{}
	for i := range r.Pods {
		if p := &r.Pods[i]; p.Permanent {
			permanent[p.ownerKey()] = true
		}
	}
	for i := range r.Pods {
		switch p := &r.Pods[i]; {
		case p.isTerminating():
			return false
		case p.Outcome != OutcomeBlocked || p.Block != nil && (p.Block.Permanent || p.Block.Kind == evacuation.ByWorkload && permanent[p.ownerKey()]):
		default:
			return false
		}
	}
	return true
}

func (p *Pod) ownerKey() string {
	namespace, _, _ := strings.Cut(p.Pod, "/")
	return namespace + "/" + p.Owner
}

// Count returns the number of pods with an outcome.
func (r *Result) Count(o Outcome) (n int) {
	for i := range r.Pods {
		if r.Pods[i].Outcome == o {
			n++
		}
	}
	return n
}

// newResult returns the current result of a machine.
func newResult(m *evacuation.Drain, v *evacuation.View) *Result {
	r := &Result{Nodes: m.Nodes(), Rounds: m.Round(), Pods: []Pod{}}
	for _, x := range m.Moves() {
		r.Pods = append(r.Pods, newPodResult(x))
	}
	for _, n := range r.Nodes {
		for _, p := range v.PodsOn(n) {
			if reason := m.Skipped(p); reason != evacuation.NotSkipped {
				r.Skipped = append(r.Skipped, SkippedPod{Pod: p.Key(), Node: n, Reason: reason})
			}
		}
	}
	slices.SortStableFunc(r.Pods, func(a, b Pod) int { return order.TrueFirst(a.Outcome != OutcomeBlocked, b.Outcome != OutcomeBlocked) })
	return r
}

func newPodResult(x *evacuation.Move) Pod {
	out := Pod{Pod: x.Pod.Key(), UID: x.Pod.UID, From: x.From, Round: x.Round, Surged: x.Surged}
	if x.Pod.Owner != (model.Owner{}) {
		out.Owner = x.Pod.Owner.Kind + " " + x.Pod.Owner.Name
	}
	out.FirstBlock = x.FirstBlock
	r := x.Replacement
	switch {
	case !x.Evicted():
		out.Outcome, out.Block = OutcomeBlocked, x.Block
	case x.AlreadyTerminating():
		out.Outcome, out.Deleted = OutcomeTerminating, x.Deleted()
	case r != nil:
		out.Outcome, out.Replacement, out.To, out.Ready = OutcomePending, r.Key(), r.NodeName, r.Ready
		if r.NodeName != "" {
			out.Outcome = OutcomeMoved
		}
	case !x.Deleted():
		out.Outcome = OutcomeTerminating
	default:
		out.Outcome = OutcomeRemoved
	}
	return out
}
