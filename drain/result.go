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
	Moves   Outcome = "moves"   // its replacement has a node
	Goes    Outcome = "goes"    // nobody replaces it
	Pends   Outcome = "pending" // its replacement has no node
	Held    Outcome = "held"    // it is not evicted
	Leaving Outcome = "leaving" // it was on its way out before, or left by itself; or it was evicted and is not gone yet
)

// Result is what a drain comes to.
type Result struct {
	Nodes  []string `json:"nodes"`
	Rounds int      `json:"rounds"`
	Pods   []Pod    `json:"pods"` // in the order in which they go; those that are held last
	Stay   []Stayer `json:"stay,omitempty"`
	// Preempted are pods elsewhere that make room for replacements.
	Preempted []Driven `json:"preempted,omitempty"`
	// Stopped says that the drain ended by something else than what became of the pods, such as Ctrl-C.
	Stopped bool `json:"stopped,omitempty"`
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
	// Held is what held it when its turn came first, Block what holds it at the end.
	Held  *Block `json:"held,omitempty"`
	Block *Block `json:"block,omitempty"`
	// Why its replacement has no node. Never: it fits no node as they are, even if nothing
	// ran there, until Field changes. Remedies are what would help.
	Why      string   `json:"why,omitempty"`
	Never    bool     `json:"never,omitempty"`
	Field    string   `json:"field,omitempty"`
	Remedies []string `json:"remedies,omitempty"`
}

// Stayer is a pod that is not touched.
type Stayer struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	Why  Stays  `json:"why"`
}

// Driven is a pod that is preempted.
type Driven struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	By   string `json:"by"`
}

// ExitCode is 0 when all pods move or have left, 4 when some never will as things are, 3 when some wait.
func (r *Result) ExitCode() int {
	code := 0
	for i := range r.Pods {
		switch p := &r.Pods[i]; {
		case p.Never || p.Block != nil && p.Block.Never:
			return 4
		case p.Outcome == Pends || p.Outcome == Held || p.lingers():
			code = 3
		}
	}
	return code
}

// Waiting is how many pods do not move.
func (r *Result) Waiting() int {
	n := r.Count(Pends) + r.Count(Held)
	for i := range r.Pods {
		if r.Pods[i].lingers() {
			n++
		}
	}
	return n
}

// lingers says that a pod is on its way out and not gone.
func (p *Pod) lingers() bool { return p.Outcome == Leaving && !p.Gone }

// Hopeless says that no waiting can help: what is still there is held for good, or waits
// for a replacement of its workload that will never have a node. It is for a Result that was explained.
func (r *Result) Hopeless() bool {
	never := map[string]bool{}
	for i := range r.Pods {
		if p := &r.Pods[i]; p.Never {
			never[p.workload()] = true
		}
	}
	for i := range r.Pods {
		switch p := &r.Pods[i]; {
		case p.lingers():
			return false
		case p.Outcome != Held || p.Block != nil && (p.Block.Never || p.Block.Kind == Paced && never[p.workload()]):
		default:
			return false
		}
	}
	return true
}

// workload tells owners apart.
func (p *Pod) workload() string {
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
		r.Pods = append(r.Pods, podOf(x))
	}
	for _, n := range r.Nodes {
		for _, p := range v.on(n) {
			if why := m.o.stays(p); why != Touched {
				r.Stay = append(r.Stay, Stayer{Pod: p.Key(), Node: n, Why: why})
			}
		}
	}
	slices.SortStableFunc(r.Pods, func(a, b Pod) int { return boolInt(a.Outcome == Held) - boolInt(b.Outcome == Held) })
	return r
}

func podOf(x *Move) Pod {
	out := Pod{Pod: x.Pod.Key(), UID: x.Pod.UID, From: x.Node, Round: x.Round, Surged: x.Surged}
	if x.Pod.Owner != (model.Owner{}) {
		out.Owner = x.Pod.Owner.Kind + " " + x.Pod.Owner.Name
	}
	out.Held = x.Held
	r := x.Replacement
	switch {
	case !x.Evicted():
		out.Outcome, out.Block = Held, x.Block
	case x.leaving():
		out.Outcome, out.Gone = Leaving, x.Gone()
	case r != nil:
		out.Outcome, out.Replacement, out.To, out.Ready = Pends, r.Key(), r.NodeName, r.Ready
		if r.NodeName != "" {
			out.Outcome = Moves
		}
	case !x.Gone():
		out.Outcome = Leaving
	default:
		out.Outcome = Goes
	}
	return out
}
