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
	UID                string             `json:"uid,omitempty"`
	NodeUnknown        bool               `json:"nodeUnknown,omitempty"` // the node of the bound pod does not exist
	Problems           []string           `json:"problems,omitempty"`    // reported by the node
	Nominated          string             `json:"nominatedNode,omitempty"`
	TerminatingVictims []string           `json:"terminatingVictims,omitempty"`
	ExtendersNotCalled bool               `json:"extendersNotCalled,omitempty"`
	RequeueTriggers    []triggerView      `json:"requeueTriggers,omitempty"`
	Preemption         *preemptionView    `json:"preemption,omitempty"`
	Resize             *resizeView        `json:"deferredResize,omitempty"`
	Suggestions        []suggestionView   `json:"suggestions,omitempty"` // cheapest first
	Trials             *int               `json:"suggestionsTried,omitempty"`
	EmptyNodes         []nodeView         `json:"emptyNodes,omitempty"` // only if the pod fits no empty node
	Decisions          []journal.Decision `json:"decisions,omitempty"`  // from a scheduler's journal: about this pod, then about deleted pods of its name
}

type triggerView struct {
	Plugin string   `json:"plugin"`
	Events []string `json:"events,omitempty"`
}

type preemptionView struct {
	Outcome    string   `json:"outcome"`
	Node       string   `json:"node,omitempty"`
	Victims    []string `json:"victims,omitempty"`
	Violations int      `json:"pdbViolations,omitempty"`
	Error      string   `json:"error,omitempty"`
}

func newPreemptionView(p *decision.Preemption) *preemptionView {
	return &preemptionView{Outcome: preemptionOutcomeNames[p.Outcome], Node: p.Node, Victims: keys(p.Victims), Violations: p.Violations, Error: p.Error}
}

// resizeView is a resize that the node of a bound pod has deferred.
type resizeView struct {
	Reasons    []string        `json:"reasons,omitempty"`
	Preemption *preemptionView `json:"preemption"`
	Enabled    bool            `json:"preemptionEnabled"` // scheduler.inPlacePodVerticalScalingSchedulerPreemption
}

var preemptionOutcomeNames = map[decision.PreemptionOutcome]string{
	decision.PreemptionNotTried: "notTried", decision.PreemptionPolicyNever: "policyNever", decision.PreemptionVictimsTerminating: "victimsTerminating",
	decision.PreemptionNoCandidates: "noCandidates", decision.PreemptionNominated: "nominated", decision.PreemptionFailed: "error",
	decision.PreemptionNotNeeded: "notNeeded", decision.PreemptionDisabled: "disabledOnNode",
}

type suggestionView struct {
	Message string       `json:"message"`
	Node    string       `json:"node"` // node for the pod
	Cost    int64        `json:"cost"`
	Untried int          `json:"similarNodesNotTried,omitempty"` // number of nodes with the same verdict that were not tried
	Changes []changeView `json:"changes"`
}

// changeView has the fields that the kind of change uses; see engine/remediation.
type changeView struct {
	Kind        string            `json:"kind"`
	Node        string            `json:"node,omitempty"`
	Pod         string            `json:"pod,omitempty"`
	Priority    *int32            `json:"priority,omitempty"`
	Preemptible bool              `json:"preemptible,omitempty"`
	Key         string            `json:"key,omitempty"`
	Value       string            `json:"value,omitempty"`
	Amount      int64             `json:"amount,omitempty"` // thousandths of a core, bytes or counts; or the number of a term
	Constraint  int               `json:"constraint,omitempty"`
	Taint       string            `json:"taint,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Size        map[string]int64  `json:"size,omitempty"` // of an added node, if it differs from the copied one, in the units of amount
}

func newSuggestionView(pod *model.Pod, r *remediation.Suggestion) suggestionView {
	v := suggestionView{Message: SuggestionText(pod, r), Node: r.Node, Cost: r.Cost, Untried: r.Untried}
	for i := range r.Changes {
		c := &r.Changes[i]
		view := changeView{Kind: c.Kind.String(), Node: c.Node, Key: c.Key, Value: c.Value, Amount: c.Amount, Constraint: c.Index}
		if c.Pod != nil {
			priority := c.Pod.Spec.Priority
			view.Pod, view.Priority, view.Preemptible = c.Pod.Key(), &priority, remediation.Preemptible(pod, c.Pod)
		}
		if c.Taint.Key != "" {
			view.Taint = taintText(&c.Taint)
		}
		for _, l := range c.Labels {
			if view.Labels == nil {
				view.Labels = map[string]string{}
			}
			view.Labels[l.Key] = l.Value
		}
		eachAmount(&c.Size, func(name string, n int64) {
			if view.Size == nil {
				view.Size = map[string]int64{}
			}
			view.Size[name] = n
		})
		v.Changes = append(v.Changes, view)
	}
	return v
}
