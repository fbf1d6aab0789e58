package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/berthproject/berth/engine/decision"
)

// expectation is a recorded decision, or an actual one in the same form.
type expectation struct {
	Outcome        string            `json:"outcome"`
	PreEnqueue     *rejection        `json:"preEnqueue,omitempty"`
	PreFilter      *rejection        `json:"preFilter,omitempty"`
	PreFilterNodes []string          `json:"preFilterNodes,omitempty"`
	NominatedFirst bool              `json:"nominatedFirst,omitempty"`
	Nodes          []nodeResult      `json:"nodes,omitempty"`
	Top            []string          `json:"top,omitempty"`
	Preemption     *preemptionResult `json:"preemption,omitempty"`
	Message        string            `json:"message,omitempty"`
}

// rejection is the verdict of a plugin that rejects a pod or a node.
type rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

// nodeResult is the verdict about a node, or its scores if the node is feasible.
type nodeResult struct {
	Name     string           `json:"name"`
	Feasible bool             `json:"feasible"`
	Plugin   string           `json:"plugin,omitempty"`
	Code     string           `json:"code,omitempty"`
	Reasons  []string         `json:"reasons,omitempty"`
	Scores   map[string]int64 `json:"scores,omitempty"`
	Total    int64            `json:"total,omitempty"`
}

// newExpectation converts a decision record to the form of the recordings.
func newExpectation(r *decision.Record) *expectation {
	e := &expectation{
		Outcome: r.Outcome.String(), PreEnqueue: newRejection(r.PreEnqueue), PreFilter: newRejection(r.PreFilter),
		NominatedFirst: r.NominatedFirst, Top: r.Top,
	}
	if r.Outcome == decision.Errored {
		e.Message = r.Error
		return e
	}
	if r.HasPreFilterNodes && e.PreFilter == nil {
		e.PreFilterNodes = r.PreFilterNodes
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		out := nodeResult{Name: n.Name, Feasible: n.Verdict.IsSuccess()}
		if out.Feasible {
			out.Total, out.Scores = n.Total, map[string]int64{}
			for _, s := range n.Scores {
				out.Scores[s.Plugin.String()] = s.Points
			}
		} else {
			v := newRejection(&n.Verdict)
			out.Plugin, out.Code, out.Reasons = v.Plugin, v.Code, v.Reasons
		}
		e.Nodes = append(e.Nodes, out)
	}
	return e
}

// newRejection converts a verdict to the form of the recordings.
func newRejection(v *decision.Verdict) *rejection {
	if v == nil {
		return nil
	}
	out := &rejection{Plugin: v.Plugin.String(), Code: v.Code.String()}
	for i := range v.Reasons {
		out.Reasons = append(out.Reasons, v.Reasons[i].String())
	}
	return out
}

// differences returns the differences between a decision and the expected one. Lists are compared as
// sets. A missing score is 0.
func (e *expectation) differences(got *expectation) []string {
	var out []string
	compare := func(field string, want, got any) {
		w, _ := json.Marshal(want)
		g, _ := json.Marshal(got)
		if string(w) != string(g) {
			out = append(out, fmt.Sprintf("%s: got %s, want %s", field, g, w))
		}
	}
	e.normalize()
	got.normalize()
	compare("outcome", e.Outcome, got.Outcome)
	if e.Outcome == "error" {
		compare("error", e.Message, got.Message)
		return out // the details are not recorded
	}
	compare("preEnqueue", e.PreEnqueue, got.PreEnqueue)
	compare("preFilter", e.PreFilter, got.PreFilter)
	compare("preFilterNodes", e.PreFilterNodes, got.PreFilterNodes)
	compare("nominatedFirst", e.NominatedFirst, got.NominatedFirst)
	compare("top", e.Top, got.Top)
	byName := map[string]*nodeResult{}
	for i := range got.Nodes {
		byName[got.Nodes[i].Name] = &got.Nodes[i]
	}
	for i := range e.Nodes {
		want := &e.Nodes[i]
		compare("node "+want.Name, want, byName[want.Name])
		delete(byName, want.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, fmt.Sprintf("node %s: got %+v, want no result", name, *byName[name]))
	}
	return out
}

// normalize makes expectations with the same meaning equal. Lists become sorted sets, and scores of 0 and
// scores of devices are removed.
func (e *expectation) normalize() {
	sortSet := func(list *[]string) {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if len(*list) == 0 {
			*list = nil
		}
	}
	sortSet(&e.PreFilterNodes)
	sortSet(&e.Top)
	for _, r := range []*rejection{e.PreEnqueue, e.PreFilter} {
		if r != nil {
			sortSet(&r.Reasons)
		}
	}
	for i := range e.Nodes {
		sortSet(&e.Nodes[i].Reasons)
		// A device score is 0 on every node without claims, and is not recorded.
		maps.DeleteFunc(e.Nodes[i].Scores, func(plugin string, points int64) bool { return points == 0 || plugin == "DynamicResources" })
		if len(e.Nodes[i].Scores) == 0 {
			e.Nodes[i].Scores = nil
		}
	}
}
