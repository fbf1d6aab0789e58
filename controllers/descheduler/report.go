package descheduler

import (
	"encoding/json"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/execution"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// Report is what a round came to.
type Report struct {
	Time   time.Time     `json:"time"`
	Took   time.Duration `json:"-"` // to decide, and in compatible mode to evict
	Mode   Mode          `json:"mode"`
	DryRun bool          `json:"dryRun"`
	// HoldSupport is what planned mode can promise.
	HoldSupport *HoldSupport `json:"places,omitempty"`
	// SkippedReason says why nothing was looked at; Broken are profiles that did not run.
	SkippedReason  string          `json:"idle,omitempty"`
	FailedProfiles []FailedProfile `json:"broken,omitempty"`
	// Moves are in order: planned, or in compatible mode made.
	Moves []MoveReport `json:"moves"`
	// Refusals are candidates that stay, the first ones; Counts counts all by why.
	Refusals      []Refusal      `json:"refused"`
	RefusalCounts map[string]int `json:"refusedByReason"`
}

// FailedProfile is a profile that did not run.
type FailedProfile struct {
	Profile string `json:"profile"`
	Reason  string `json:"why"`
}

// MoveReport is a pod that is to leave, or has left.
type MoveReport struct {
	Pod      string `json:"pod"`             // namespace/name
	Owner    string `json:"owner,omitempty"` // Kind/name
	From     string `json:"from"`
	To       string `json:"to,omitempty"` // empty: not known in compatible mode, nowhere for a finished pod
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Reason   string `json:"reason,omitempty"`
	// PossibleNodes are the nodes that the scheduler may choose, where no place is held.
	PossibleNodes []string `json:"mayGoTo,omitempty"`
	Gain          *Gain    `json:"gain,omitempty"`
	Budgets       []Budget `json:"budgets,omitempty"`
	WaitReason    string   `json:"waits,omitempty"` // for which budget
	// Outcome is what became of it, Why says more; Node is where its replacement is.
	Outcome       string `json:"outcome,omitempty"`
	OutcomeReason string `json:"why,omitempty"`
	Replacement   string `json:"replacement,omitempty"`
	Node          string `json:"node,omitempty"`
}

// Gain is how far the strategy's goal gets closer.
type Gain struct {
	Metric string `json:"of"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// Budget is what a move takes from a disruption budget of its namespace: what that allows before and after.
type Budget struct {
	Name   string `json:"name"`
	Before int32  `json:"before"`
	After  int32  `json:"after"`
}

// Refusal is a candidate that stays.
type Refusal struct {
	Pod      string `json:"pod"`
	Node     string `json:"node"`
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Reason   string `json:"why"`
	Message  string `json:"words"`
}

// addResult takes in how the strategies fared.
func (r *Report) addResult(of *descheduling.Result) {
	r.SkippedReason = of.SkippedReason
	for _, b := range of.FailedProfiles {
		r.FailedProfiles = append(r.FailedProfiles, FailedProfile{b.Profile, b.Reason})
	}
}

// addPlan takes in a plan.
func (r *Report) addPlan(p *planning.Plan) {
	for _, m := range p.Moves {
		r.Moves = append(r.Moves, plannedMove(m))
	}
	for _, x := range p.Refused {
		r.Refusals = append(r.Refusals, Refusal{x.Pod, x.Node, x.Strategy, x.Profile, x.Reason.String(), x.Message})
	}
	for _, c := range p.Counts {
		r.RefusalCounts[c.Reason.String()] = c.Count
	}
}

// setMoves takes in what became of the moves.
func (r *Report) setMoves(moves []*execution.Move) {
	r.Moves = r.Moves[:0]
	for _, x := range moves {
		r.Moves = append(r.Moves, executedMove(x))
	}
}

func plannedMove(m *planning.Move) MoveReport {
	out := MoveReport{Pod: m.Pod.Key(), Owner: ownerOf(m.Pod), From: m.From, To: m.To, Strategy: m.Strategy, Profile: m.Profile, Reason: m.Reason, PossibleNodes: m.TopNodes, WaitReason: m.WaitReason}
	if m.Gain.Metric != "" {
		out.Gain = &Gain{m.Gain.Metric, m.Gain.Before, m.Gain.After}
	}
	for _, e := range m.Budgets {
		out.Budgets = append(out.Budgets, Budget{e.Budget, e.Before, e.After})
	}
	return out
}

func executedMove(x *execution.Move) MoveReport {
	out := plannedMove(x.Move)
	out.Outcome, out.OutcomeReason = x.Outcome.String(), x.Reason
	if x.Stage != execution.Finished {
		out.Outcome = x.Stage.String()
	}
	if p := x.Replacement; p != nil {
		out.Replacement, out.Node = p.Key(), p.NodeName
	}
	return out
}

// evictedMove is a pod that was evicted in compatible mode.
func evictedMove(l *evictionRequest) MoveReport {
	return MoveReport{Pod: l.pod.Key(), Owner: ownerOf(l.pod), From: l.pod.NodeName, Strategy: l.strategy, Profile: l.profile, Reason: l.reason}
}

// maxRefusals is how many refusals a report has whole, as a plan.
const maxRefusals = 1000

// addRefusal takes in a candidate that stays.
func (r *Report) addRefusal(p *model.Pod, strategy, profile, why, words string) {
	if r.RefusalCounts[why]++; len(r.Refusals) < maxRefusals {
		r.Refusals = append(r.Refusals, Refusal{p.Key(), p.NodeName, strategy, profile, why, words})
	}
}

func ownerOf(p *model.Pod) string {
	if p.Owner.Kind == "" {
		return ""
	}
	return p.Owner.Kind + "/" + p.Owner.Name
}

// NumIncomplete are the moves that did not come about, for the exit code: those that were given up, or wait, or came to nothing.
func (r *Report) NumIncomplete() (n int) {
	for i := range r.Moves {
		switch r.Moves[i].Outcome {
		case "", execution.Moved.String(), execution.CleanedUp.String():
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
