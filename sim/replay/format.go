package replay

import (
	"encoding/json"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Version is the version in the header of a journal.
const Version = "berth.dev/journal/v2"

// header is the first line.
type header struct {
	Journal string `json:"journal"`
	Options string `json:"options"` // fingerprint
}

// stepLine is a line between header and footer.
type stepLine struct {
	At        int64             `json:"at"`
	Restarted bool              `json:"restarted,omitempty"`
	Limit     int               `json:"limit"`
	In        []input           `json:"in,omitempty"`
	Effects   []json.RawMessage `json:"effects,omitempty"`
	Wake      int64             `json:"wake"`
}

// footer is the last line, with the number of steps and effects.
type footer struct {
	End     int `json:"end"`
	Effects int `json:"effects"`
}

// footerPrefix is the prefix of the last line only.
const footerPrefix = `{"end":`

// input is an event: an object that was created, updated or deleted, or an outcome.
type input struct {
	Upsert  store.Kind        `json:"upsert,omitempty"`
	Object  json.RawMessage   `json:"object,omitempty"`
	Delete  store.Kind        `json:"delete,omitempty"`
	Key     string            `json:"key,omitempty"`
	UID     string            `json:"uid,omitempty"`
	Effect  uint64            `json:"effect,omitempty"` // that has the outcome Result
	Result  string            `json:"result,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Budgets []json.RawMessage `json:"budgets,omitempty"`
}

// effectLine is an effect.
type effectLine struct {
	Kind    string   `json:"kind"`
	ID      uint64   `json:"id"`
	Pod     string   `json:"pod"`
	UID     string   `json:"uid"`
	Node    string   `json:"node,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Retry   bool     `json:"retry,omitempty"`
	Text    string   `json:"text,omitempty"`
	Choice  int      `json:"choice,omitempty"`
	Victims []string `json:"victims,omitempty"`
	Debits  []debit  `json:"debits,omitempty"`
	Claims  []string `json:"claims,omitempty"`
}

type debit struct {
	Budget    string   `json:"budget"`
	Granted   []string `json:"granted,omitempty"`
	Overruled []string `json:"overruled,omitempty"`
}

// encodeEffect encodes an effect.
func encodeEffect(e scheduling.Effect) ([]byte, error) {
	pod := executor.PodOf(e)
	out := effectLine{Kind: effectKind(e), ID: e.EffectID(), Pod: pod.Key(), UID: pod.UID}
	switch e := e.(type) {
	case scheduling.Bind:
		out.Node, out.Attempt, out.Retry = e.Node, e.Attempt, e.Retry
	case scheduling.ReportUnschedulable:
		out.Attempt, out.Retry, out.Text = e.Attempt, e.Retry, explain.Message(e.Summary)
	case scheduling.ReportGated:
		out.Text = explain.GatedMessage(e.Verdict)
	case scheduling.ReportDeferredResize:
		out.Text = explain.Message(e.Summary)
	case scheduling.Preempt:
		out.Node, out.Choice, out.Retry = e.Plan.Node, e.Choice, e.Retry
		out.setPreemption(e.Plan)
	case scheduling.BindVolumes:
		out.Node = e.Node
		for _, b := range e.Plan.Bind {
			out.Claims = append(out.Claims, b.Claim.Namespace+"/"+b.Claim.Name+"="+b.Volume.Name)
		}
		for _, c := range e.Plan.Provision {
			out.Claims = append(out.Claims, c.Namespace+"/"+c.Name)
		}
	}
	return json.Marshal(out)
}

func (out *effectLine) setPreemption(p *decision.Preemption) {
	for _, v := range p.Victims {
		out.Victims = append(out.Victims, v.Key())
	}
	for _, d := range p.Debits {
		out.Debits = append(out.Debits, debit{Budget: store.Key(d.Budget.Namespace, d.Budget.Name), Granted: d.Granted, Overruled: d.Overruled})
	}
}

// effectKind returns the kind of an effect in journals.
func effectKind(e scheduling.Effect) string {
	switch e.(type) {
	case scheduling.Bind:
		return sim.RequestBind
	case scheduling.ReportUnschedulable:
		return sim.RequestUnschedulable
	case scheduling.ReportGated:
		return sim.RequestHold
	case scheduling.RefreshPod:
		return sim.RequestRefresh
	case scheduling.Preempt:
		return sim.RequestPreempt
	case scheduling.ClearNomination:
		return sim.RequestClearNomination
	case scheduling.BindVolumes:
		return sim.RequestBindVolumes
	case scheduling.ReportBound:
		return "bound"
	case scheduling.ReportDeferredResize:
		return "deferredresize"
	}
	return "unknown"
}
