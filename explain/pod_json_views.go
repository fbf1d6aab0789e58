package explain

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/remediation"
	"github.com/berthproject/berth/internal/journal"
)

// explanationView is the JSON of a PodExplanation. The names of fields are stable.
type explanationView struct {
	*recordView
	UID         string             `json:"uid,omitempty"`
	NodeUnknown bool               `json:"nodeUnknown,omitempty"` // the node of the bound pod does not exist
	Troubles    []string           `json:"troubles,omitempty"`    // reported by the node
	Nominated   string             `json:"nominatedNode,omitempty"`
	Leaving     []string           `json:"waitsForVictims,omitempty"`
	Extenders   bool               `json:"extendersNotAsked,omitempty"`
	Wakes       []triggerView      `json:"wakes,omitempty"`
	Preemption  *preemptionView    `json:"preemption,omitempty"`
	Remedies    []suggestionView   `json:"remedies,omitempty"` // cheapest first
	Tried       *int               `json:"remediesTried,omitempty"`
	Empty       []nodeView         `json:"emptyNodes,omitempty"` // only if the pod fits no empty node
	Decided     []journal.Decision `json:"decided,omitempty"`    // from a scheduler's journal: about this pod, then about deleted pods of its name
}

type triggerView struct {
	Plugin string   `json:"plugin"`
	When   []string `json:"when,omitempty"`
}

type preemptionView struct {
	Tried      string   `json:"outcome"`
	Node       string   `json:"node,omitempty"`
	Victims    []string `json:"victims,omitempty"`
	Violations int      `json:"pdbViolations,omitempty"`
	Error      string   `json:"error,omitempty"`
}

var preemptionOutcomeNames = map[decision.PreemptionOutcome]string{
	decision.PreemptionNotTried: "notTried", decision.PreemptionPolicyNever: "never", decision.PreemptionVictimsTerminating: "waitsForVictims",
	decision.PreemptionNoCandidates: "noneHelps", decision.PreemptionNominated: "nominated", decision.PreemptionFailed: "error",
}

type suggestionView struct {
	Words   string       `json:"words"`
	Node    string       `json:"node"` // node for the pod
	Cost    int64        `json:"cost"`
	Untried int          `json:"alikeNotTried,omitempty"` // number of nodes with the same verdict that were not tried
	Changes []changeView `json:"changes"`
}

// changeView has the fields that the kind of change uses; see engine/remediation.
type changeView struct {
	Kind       string            `json:"kind"`
	Node       string            `json:"node,omitempty"`
	Pod        string            `json:"pod,omitempty"`
	Priority   *int32            `json:"priority,omitempty"`
	Preempts   bool              `json:"preemptible,omitempty"`
	Key        string            `json:"key,omitempty"`
	Value      string            `json:"value,omitempty"`
	Amount     int64             `json:"amount,omitempty"` // thousandths of a core, bytes or counts; or the number of a term
	Constraint int               `json:"constraint,omitempty"`
	Taint      string            `json:"taint,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

func newSuggestionView(pod *model.Pod, r *remediation.Suggestion) suggestionView {
	v := suggestionView{Words: SuggestionText(pod, r), Node: r.Node, Cost: r.Cost, Untried: r.Untried}
	for i := range r.Changes {
		c := &r.Changes[i]
		w := changeView{Kind: c.Kind.String(), Node: c.Node, Key: c.Key, Value: c.Value, Amount: c.Amount, Constraint: c.Index}
		if c.Pod != nil {
			priority := c.Pod.Spec.Priority
			w.Pod, w.Priority, w.Preempts = c.Pod.Key(), &priority, remediation.Preemptible(pod, c.Pod)
		}
		if c.Taint.Key != "" {
			w.Taint = taintText(&c.Taint)
		}
		for _, l := range c.Labels {
			if w.Labels == nil {
				w.Labels = map[string]string{}
			}
			w.Labels[l.Key] = l.Value
		}
		v.Changes = append(v.Changes, w)
	}
	return v
}
