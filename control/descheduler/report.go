package descheduler

import (
	"encoding/json"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// Report is what a round came to.
type Report struct {
	Time   time.Time     `json:"time"`
	Took   time.Duration `json:"-"` // to decide, and in compatible mode to evict
	Mode   Mode          `json:"mode"`
	DryRun bool          `json:"dryRun"`
	// Places is what planned mode can promise.
	Places *Places `json:"places,omitempty"`
	// Idle says why nothing was looked at; Broken are profiles that did not run.
	Idle   string   `json:"idle,omitempty"`
	Broken []Broken `json:"broken,omitempty"`
	// Moves are in order: planned, or in compatible mode made.
	Moves []Moved `json:"moves"`
	// Refused are candidates that stay, the first ones; Counts counts all by why.
	Refused []Refused      `json:"refused"`
	Counts  map[string]int `json:"refusedByReason"`
}

// Broken is a profile that did not run.
type Broken struct {
	Profile string `json:"profile"`
	Why     string `json:"why"`
}

// Moved is a pod that is to leave, or has left.
type Moved struct {
	Pod      string `json:"pod"`             // namespace/name
	Owner    string `json:"owner,omitempty"` // Kind/name
	From     string `json:"from"`
	To       string `json:"to,omitempty"` // empty: not known in compatible mode, nowhere for a finished pod
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Reason   string `json:"reason,omitempty"`
	// MayGoTo are the nodes that the scheduler may choose, where no place is held.
	MayGoTo []string `json:"mayGoTo,omitempty"`
	Gain    *Gain    `json:"gain,omitempty"`
	Budgets []Budget `json:"budgets,omitempty"`
	Waits   string   `json:"waits,omitempty"` // for which budget
	// Outcome is what became of it, Why says more; Node is where its replacement is.
	Outcome     string `json:"outcome,omitempty"`
	Why         string `json:"why,omitempty"`
	Replacement string `json:"replacement,omitempty"`
	Node        string `json:"node,omitempty"`
}

// Gain is how far the strategy's goal gets closer.
type Gain struct {
	Of     string `json:"of"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// Budget is what a move takes from a disruption budget of its namespace: what that allows before and after.
type Budget struct {
	Name   string `json:"name"`
	Before int32  `json:"before"`
	After  int32  `json:"after"`
}

// Refused is a candidate that stays.
type Refused struct {
	Pod      string `json:"pod"`
	Node     string `json:"node"`
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Why      string `json:"why"`
	Words    string `json:"words"`
}

// result takes in how the strategies fared.
func (r *Report) result(of *rebalance.Result) {
	r.Idle = of.Idle
	for _, b := range of.Broken {
		r.Broken = append(r.Broken, Broken{b.Profile, b.Why})
	}
}

// plan takes in a plan.
func (r *Report) plan(p *plan.Plan) {
	for _, m := range p.Moves {
		r.Moves = append(r.Moves, planned(m))
	}
	for _, x := range p.Refused {
		r.Refused = append(r.Refused, Refused{x.Pod, x.Node, x.Strategy, x.Profile, x.Why.String(), x.Words})
	}
	for _, c := range p.Counts {
		r.Counts[c.Why.String()] = c.N
	}
}

// carried takes in what became of the moves.
func (r *Report) carried(moves []*carry.Move) {
	r.Moves = r.Moves[:0]
	for _, x := range moves {
		r.Moves = append(r.Moves, carried(x))
	}
}

func planned(m *plan.Move) Moved {
	out := Moved{Pod: m.Pod.Key(), Owner: ownerOf(m.Pod), From: m.From, To: m.To, Strategy: m.Strategy, Profile: m.Profile, Reason: m.Reason, MayGoTo: m.Top, Waits: m.Waits}
	if m.Gain.Of != "" {
		out.Gain = &Gain{m.Gain.Of, m.Gain.Before, m.Gain.After}
	}
	for _, e := range m.Budgets {
		out.Budgets = append(out.Budgets, Budget{e.Budget, e.Before, e.After})
	}
	return out
}

func carried(x *carry.Move) Moved {
	out := planned(x.Move)
	out.Outcome, out.Why = x.Outcome.String(), x.Why
	if x.Stage != carry.Over {
		out.Outcome = x.Stage.String()
	}
	if p := x.Replacement; p != nil {
		out.Replacement, out.Node = p.Key(), p.NodeName
	}
	return out
}

// evicted is a pod that was evicted in compatible mode.
func evicted(l *leave) Moved {
	return Moved{Pod: l.pod.Key(), Owner: ownerOf(l.pod), From: l.pod.NodeName, Strategy: l.strategy, Profile: l.profile, Reason: l.reason}
}

// kept is how many refusals a report has whole, as a plan.
const kept = 1000

// refused takes in a candidate that stays.
func (r *Report) refused(p *model.Pod, strategy, profile, why, words string) {
	if r.Counts[why]++; len(r.Refused) < kept {
		r.Refused = append(r.Refused, Refused{p.Key(), p.NodeName, strategy, profile, why, words})
	}
}

func ownerOf(p *model.Pod) string {
	if p.Owner.Kind == "" {
		return ""
	}
	return p.Owner.Kind + "/" + p.Owner.Name
}

// Left are the moves that did not come about, for the exit code: those that were given up, or wait, or came to nothing.
func (r *Report) Left() (n int) {
	for i := range r.Moves {
		switch r.Moves[i].Outcome {
		case "", carry.Moved.String(), carry.CleanedUp.String():
		default:
			n++
		}
	}
	return n
}

// JSON is the report as one object.
func (r *Report) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		*Report
		Seconds float64 `json:"seconds"`
	}{r, r.Took.Seconds()}, "", "  ")
}
