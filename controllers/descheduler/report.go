package descheduler

import (
	"encoding/json"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
)

// Report is the result of a run.
type Report struct {
	Time     time.Time     `json:"time"`
	Duration time.Duration `json:"-"` // for the decision and, in compatible mode, the evictions
	Mode     Mode          `json:"mode"`
	DryRun   bool          `json:"dryRun"`
	// HoldSupport is set in planned mode.
	HoldSupport *HoldSupport `json:"holdSupport,omitempty"`
	// SkippedReason is why the run was skipped. FailedProfiles are the profiles that could not run.
	SkippedReason  string          `json:"skippedReason,omitempty"`
	FailedProfiles []FailedProfile `json:"failedProfiles,omitempty"`
	// Moves are the planned moves or, in compatible mode, the evictions, in order.
	Moves []MoveReport `json:"moves"`
	// Refusals are the first refused candidates; RefusalCounts counts all by reason.
	Refusals      []Refusal      `json:"refusals"`
	RefusalCounts map[string]int `json:"refusalsByReason"`
}

// FailedProfile is a profile that could not run.
type FailedProfile struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

// MoveReport is a planned or executed move.
type MoveReport struct {
	Pod      string `json:"pod"`             // namespace/name
	Owner    string `json:"owner,omitempty"` // Kind/name
	From     string `json:"from"`
	To       string `json:"to,omitempty"` // empty in compatible mode (unknown) and for a finished pod (none)
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Reason   string `json:"reason,omitempty"`
	// PossibleNodes are, without Holds, the nodes that the scheduler may choose.
	PossibleNodes []string `json:"possibleNodes,omitempty"`
	Gain          *Gain    `json:"gain,omitempty"`
	Budgets       []Budget `json:"budgets,omitempty"`
	WaitReason    string   `json:"waitReason,omitempty"` // why a budget does not allow the move now
	// Outcome is the result, OutcomeReason its reason; Node is the node of the replacement.
	Outcome       string `json:"outcome,omitempty"`
	OutcomeReason string `json:"outcomeReason,omitempty"`
	Replacement   string `json:"replacement,omitempty"`
	Node          string `json:"node,omitempty"`
}

// Gain is the change of the strategy's metric.
type Gain struct {
	Metric string `json:"metric"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// Budget is the effect of a move on a disruption budget: the allowed disruptions before and
// after.
type Budget struct {
	Name   string `json:"name"`
	Before int32  `json:"before"`
	After  int32  `json:"after"`
}

// Refusal is a refused candidate.
type Refusal struct {
	Pod      string `json:"pod"`
	Node     string `json:"node"`
	Strategy string `json:"strategy"`
	Profile  string `json:"profile"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}

func (r *Report) addResult(result *descheduling.Result) {
	r.SkippedReason = result.SkippedReason
	for _, p := range result.FailedProfiles {
		r.FailedProfiles = append(r.FailedProfiles, FailedProfile{p.Profile, p.Reason})
	}
}

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

func (r *Report) setMoves(moves []*evacuation.Move) {
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
	for _, b := range m.Budgets {
		out.Budgets = append(out.Budgets, Budget{b.Budget, b.Before, b.After})
	}
	return out
}

func executedMove(x *evacuation.Move) MoveReport {
	out := plannedMove(x.Planned)
	out.Outcome, out.OutcomeReason = x.Outcome.String(), x.Reason
	if x.Stage != evacuation.Finished {
		out.Outcome = x.Stage.String()
	}
	if p := x.Replacement; p != nil {
		out.Replacement, out.Node = p.Key(), p.NodeName
	}
	return out
}

// evictedMove returns the report of an eviction in compatible mode.
func evictedMove(req *evictionRequest) MoveReport {
	return MoveReport{Pod: req.pod.Key(), Owner: ownerOf(req.pod), From: req.pod.NodeName, Strategy: req.strategy, Profile: req.profile, Reason: req.reason}
}

// maxRefusals is the maximum number of refusals that a report contains, as in a plan.
const maxRefusals = 1000

func (r *Report) addRefusal(p *model.Pod, strategy, profile, reason, message string) {
	if r.RefusalCounts[reason]++; len(r.Refusals) < maxRefusals {
		r.Refusals = append(r.Refusals, Refusal{p.Key(), p.NodeName, strategy, profile, reason, message})
	}
}

func ownerOf(p *model.Pod) string {
	if p.Owner.Kind == "" {
		return ""
	}
	return p.Owner.Kind + "/" + p.Owner.Name
}

// NumIncomplete returns the number of moves that are not finished or did not succeed, for the exit
// code.
func (r *Report) NumIncomplete() (n int) {
	for i := range r.Moves {
		switch r.Moves[i].Outcome {
		case "", evacuation.Moved.String(), evacuation.CleanedUp.String():
		default:
			n++
		}
	}
	return n
}

// JSON returns the report as a JSON object.
func (r *Report) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		*Report
		Seconds float64 `json:"seconds"`
	}{r, r.Duration.Seconds()}, "", "  ")
}
