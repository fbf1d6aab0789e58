package drain

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// Outcome is what becomes of a pod of a drained node.
type Outcome string

// The outcomes.
const (
	OutcomeMoved       Outcome = "moves"   // its replacement has a node
	OutcomeRemoved     Outcome = "goes"    // nobody replaces it
	OutcomePending     Outcome = "pending" // its replacement has no node
	OutcomeBlocked     Outcome = "held"    // it is not evicted
	OutcomeTerminating Outcome = "leaving" // it was on its way out before, or left by itself; or it was evicted and is not gone yet
)

// Result is what a drain comes to.
type Result struct {
	Nodes   []string     `json:"nodes"`
	Rounds  int          `json:"rounds"`
	Pods    []Pod        `json:"pods"` // in the order in which they go; those that are held last
	Skipped []SkippedPod `json:"stay,omitempty"`
	// Preempted are pods elsewhere that make room for replacements.
	Preempted []PreemptedPod `json:"preempted,omitempty"`
	// Interrupted says that the drain ended by something else than what became of the pods, such as Ctrl-C.
	Interrupted bool `json:"stopped,omitempty"`
}

// Pod is what becomes of a pod of a drained node.
type Pod struct {
	Pod     string  `json:"pod"` // namespace/name
	UID     string  `json:"uid,omitempty"`
	Owner   string  `json:"owner,omitempty"` // kind and name of its controller
	From    string  `json:"from"`            // node
	Outcome Outcome `json:"outcome"`
	Round   int     `json:"round,omitempty"`
	To      string  `json:"to,omitempty"` // node of its replacement
	// Replacement is the pod that came for it; of a drain that was foretold its name is not known.
	Replacement string `json:"replacement,omitempty"`
	Ready       bool   `json:"ready,omitempty"` // the replacement is
	Surged      bool   `json:"surged,omitempty"`
	// Gone says of a pod that was leaving that it is gone.
	Gone bool `json:"gone,omitempty"`
	// Uncertain says that it may come otherwise, as pods of equal priority contend for the same room.
	Uncertain bool `json:"uncertain,omitempty"`
	// FirstBlock is what held it when its turn came first, Block what holds it at the end.
	FirstBlock *Block `json:"held,omitempty"`
	Block      *Block `json:"block,omitempty"`
	// PendingReason its replacement has no node. Never: it fits no node as they are, even if nothing
	// ran there, until Field changes. Remedies are what would help.
	PendingReason string   `json:"why,omitempty"`
	Permanent     bool     `json:"never,omitempty"`
	Field         string   `json:"field,omitempty"`
	Suggestions   []string `json:"remedies,omitempty"`
}

// SkippedPod is a pod that is not touched.
type SkippedPod struct {
	Pod    string     `json:"pod"`
	Node   string     `json:"node"`
	Reason SkipReason `json:"why"`
}

// PreemptedPod is a pod that is preempted.
type PreemptedPod struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	By   string `json:"by"`
}

// ExitCode is 0 when all pods move or have left, 4 when some never will as things are, 3 when some wait.
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

// NumNotMoved is how many pods do not move.
func (r *Result) NumNotMoved() int {
	n := r.Count(OutcomePending) + r.Count(OutcomeBlocked)
	for i := range r.Pods {
		if r.Pods[i].isTerminating() {
			n++
		}
	}
	return n
}

// isTerminating says that a pod is on its way out and not gone.
func (p *Pod) isTerminating() bool { return p.Outcome == OutcomeTerminating && !p.Gone }

// CannotProgress says that no waiting can help: what is still there is held for good, or waits
// for a replacement of its workload that will never have a node. It is for a Result that was explained.
func (r *Result) CannotProgress() bool {
	never := map[string]bool{}
	for i := range r.Pods {
		if p := &r.Pods[i]; p.Permanent {
			never[p.ownerKey()] = true
		}
	}
	for i := range r.Pods {
		switch p := &r.Pods[i]; {
		case p.isTerminating():
			return false
		case p.Outcome != OutcomeBlocked || p.Block != nil && (p.Block.Permanent || p.Block.Kind == ByWorkload && never[p.ownerKey()]):
		default:
			return false
		}
	}
	return true
}

// ownerKey tells owners apart.
func (p *Pod) ownerKey() string {
	namespace, _, _ := strings.Cut(p.Pod, "/")
	return namespace + "/" + p.Owner
}

// Count is how many pods have an outcome.
func (r *Result) Count(o Outcome) (n int) {
	for i := range r.Pods {
		if r.Pods[i].Outcome == o {
			n++
		}
	}
	return n
}

// Result is what the drain has come to so far.
func (m *Machine) Result(v *View) *Result {
	r := &Result{Nodes: m.nodes, Rounds: m.round}
	for _, x := range m.Moves() {
		r.Pods = append(r.Pods, newPodResult(x))
	}
	for _, n := range r.Nodes {
		for _, p := range v.podsOn(n) {
			if why := m.o.skipReason(p); why != NotSkipped {
				r.Skipped = append(r.Skipped, SkippedPod{Pod: p.Key(), Node: n, Reason: why})
			}
		}
	}
	slices.SortStableFunc(r.Pods, func(a, b Pod) int { return boolInt(a.Outcome == OutcomeBlocked) - boolInt(b.Outcome == OutcomeBlocked) })
	return r
}

func newPodResult(x *Move) Pod {
	out := Pod{Pod: x.Pod.Key(), UID: x.Pod.UID, From: x.Node, Round: x.Round, Surged: x.Surged}
	if x.Pod.Owner != (model.Owner{}) {
		out.Owner = x.Pod.Owner.Kind + " " + x.Pod.Owner.Name
	}
	out.FirstBlock = x.FirstBlock
	r := x.Replacement
	switch {
	case !x.Evicted():
		out.Outcome, out.Block = OutcomeBlocked, x.Block
	case x.alreadyTerminating():
		out.Outcome, out.Gone = OutcomeTerminating, x.Gone()
	case r != nil:
		out.Outcome, out.Replacement, out.To, out.Ready = OutcomePending, r.Key(), r.NodeName, r.Ready
		if r.NodeName != "" {
			out.Outcome = OutcomeMoved
		}
	case !x.Gone():
		out.Outcome = OutcomeTerminating
	default:
		out.Outcome = OutcomeRemoved
	}
	return out
}
