package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// vector is one case and the decision of kube-scheduler, in the schema of the recorded
// vectors.
type vector struct {
	ID           string            `json:"id"`
	Family       string            `json:"family"`
	Oracle       string            `json:"oracle,omitempty"`
	Note         string            `json:"note,omitempty"`
	Config       json.RawMessage   `json:"config,omitempty"`
	FeatureGates map[string]bool   `json:"featureGates,omitempty"`
	Direct       bool              `json:"direct,omitempty"`
	Inadmissible []string          `json:"inadmissible,omitempty"`
	Objects      []json.RawMessage `json:"objects"`
	Pod          string            `json:"pod"`
	Expect       *expectation      `json:"expect,omitempty"`
}

type expectation struct {
	Outcome        string            `json:"outcome"`
	PreEnqueue     *refusal          `json:"preEnqueue,omitempty"`
	PreFilter      *refusal          `json:"preFilter,omitempty"`
	PreFilterNodes []string          `json:"preFilterNodes,omitempty"`
	NominatedFirst bool              `json:"nominatedFirst,omitempty"`
	Nodes          []nodeResult      `json:"nodes,omitempty"`
	Top            []string          `json:"top,omitempty"`
	Preemption     *preemptionResult `json:"preemption,omitempty"`
	Message        string            `json:"message,omitempty"`
}

type refusal struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

type nodeResult struct {
	Name     string           `json:"name"`
	Feasible bool             `json:"feasible"`
	Plugin   string           `json:"plugin,omitempty"`
	Code     string           `json:"code,omitempty"`
	Reasons  []string         `json:"reasons,omitempty"`
	Scores   map[string]int64 `json:"scores,omitempty"`
	Total    int64            `json:"total,omitempty"`
}

// equal compares everything except the message of an unschedulable pod, to which the
// recordings add the message of preemption.
func (e *expectation) equal(other *expectation) bool {
	return bytes.Equal(compact(e.normalized()), compact(other.normalized()))
}

func (e *expectation) normalized() *expectation {
	c := *e
	if c.Outcome != "error" {
		c.Message = ""
	}
	c.Nodes = slices.Clone(c.Nodes)
	slices.SortFunc(c.Nodes, func(a, b nodeResult) int { return cmp.Compare(a.Name, b.Name) })
	return &c
}

func compact(v any) []byte {
	raw, _ := json.Marshal(v)
	return raw
}
