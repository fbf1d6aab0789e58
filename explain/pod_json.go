package explain

import (
	"encoding/json"
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// JSON returns the explanation as JSON. The schema is that of `expect` in conformance/testdata/scheduling, with
// additional fields. The names of fields are stable.
func (e *PodExplanation) JSON() ([]byte, error) {
	v := explanationView{recordView: newRecordView(e.Record, e.Node), NodeUnknown: e.NodeMissing, Problems: e.Problems, Nominated: e.Nominated, TerminatingVictims: keys(e.TerminatingVictims), ExtendersNotCalled: e.Extenders}
	pending := e.Node == "" && (e.Record.Outcome == decision.Infeasible || e.Record.Outcome == decision.Gated)
	if pending {
		for _, trigger := range RequeueTriggers(e.Record.UnschedulablePlugins) {
			v.RequeueTriggers = append(v.RequeueTriggers, triggerView{trigger.Plugin.String(), trigger.Events})
		}
	}
	if p := e.Preemption; p != nil {
		v.Preemption = newPreemptionView(p)
	}
	if e.Resize != nil {
		v.Resize = &resizeView{Reasons: resizeReasons(e.Resize), Preemption: newPreemptionView(e.Resize.Preemption), Enabled: e.ResizePreemption}
	}
	if e.Suggestions != nil {
		v.Suggestions, v.Trials = []suggestionView{}, &e.Suggestions.Trials
		for i := range e.Suggestions.Suggestions {
			v.Suggestions = append(v.Suggestions, newSuggestionView(e.Pod, &e.Suggestions.Suggestions[i]))
		}
		for i := range e.Suggestions.VerdictsWhenEmpty {
			v.EmptyNodes = append(v.EmptyNodes, newNodeView(&e.Suggestions.VerdictsWhenEmpty[i]))
		}
	}
	v.UID, v.Decisions = e.uid(), slices.Concat(decisionsByUID(e.Decisions, e.uid())...)
	return json.MarshalIndent(v, "", "  ")
}

type recordView struct {
	Pod            string       `json:"pod"`
	Node           string       `json:"node,omitempty"` // of a bound pod
	Profile        string       `json:"profile"`
	Outcome        string       `json:"outcome"`
	Message        string       `json:"message,omitempty"`
	PreEnqueue     *verdictView `json:"preEnqueue,omitempty"`
	PreFilter      *verdictView `json:"preFilter,omitempty"`
	PreFilterNodes []string     `json:"preFilterNodes,omitempty"`
	NominatedFirst bool         `json:"nominatedFirst,omitempty"`
	ReservedFirst  bool         `json:"reservedFirst,omitempty"`
	Nodes          []nodeView   `json:"nodes,omitempty"`
	Top            []string     `json:"top,omitempty"`
	Choice         string       `json:"choice,omitempty"`
}

type verdictView struct {
	Plugin  string    `json:"plugin,omitempty"`
	Code    string    `json:"code"`
	Reasons []string  `json:"reasons,omitempty"`
	Numbers []numbers `json:"numbers,omitempty"`
}

type nodeView struct {
	Name     string `json:"name"`
	Feasible bool   `json:"feasible"`
	// For a rejected node.
	Plugin  string    `json:"plugin,omitempty"`
	Code    string    `json:"code,omitempty"`
	Reasons []string  `json:"reasons,omitempty"`
	Numbers []numbers `json:"numbers,omitempty"`
	// For a feasible node.
	Scores map[string]int64 `json:"scores,omitempty"`
	Total  *int64           `json:"total,omitempty"`
}

// numbers are the numbers of a decision.Reason in milli-CPU, bytes and counts.
type numbers struct {
	Subject string `json:"subject,omitempty"`
	Want    int64  `json:"want,omitempty"`
	Used    int64  `json:"used,omitempty"`
	Have    int64  `json:"have,omitempty"`
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
}

func newRecordView(rec *decision.Record, node string) *recordView {
	v := &recordView{
		Pod: rec.Pod, Node: node, Profile: rec.Profile, Outcome: rec.Outcome.String(), Message: rec.Error,
		PreEnqueue: newVerdictView(rec.PreEnqueue), PreFilter: newVerdictView(rec.PreFilter),
		PreFilterNodes: rec.PreFilterNodes, NominatedFirst: rec.NominatedFirst, ReservedFirst: rec.ReservedFirst, Top: rec.Top, Choice: rec.Choice,
	}
	for i := range rec.Nodes {
		v.Nodes = append(v.Nodes, newNodeView(&rec.Nodes[i]))
	}
	return v
}

func newVerdictView(v *decision.Verdict) *verdictView {
	if v == nil {
		return nil
	}
	reasons, nums := reasonsOf(v)
	return &verdictView{Plugin: v.Plugin.String(), Code: v.Code.String(), Reasons: reasons, Numbers: nums}
}

func reasonsOf(v *decision.Verdict) (reasons []string, nums []numbers) {
	for i := range v.Reasons {
		r := &v.Reasons[i]
		reasons = append(reasons, r.String())
		nums = append(nums, numbers{r.Subject, r.Want, r.Used, r.Have, r.Object, ReasonText(r)})
	}
	slices.Sort(reasons)
	return reasons, nums
}

func newNodeView(n *decision.NodeRecord) nodeView {
	if !n.Verdict.IsSuccess() {
		reasons, nums := reasonsOf(&n.Verdict)
		return nodeView{Name: n.Name, Plugin: n.Verdict.Plugin.String(), Code: n.Verdict.Code.String(), Reasons: reasons, Numbers: nums}
	}
	out := nodeView{Name: n.Name, Feasible: true, Scores: map[string]int64{}, Total: &n.Total}
	for _, s := range n.Scores {
		out.Scores[s.Plugin.String()] = s.Points
	}
	return out
}
