package scheduler

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/table"
)

// decisionView is the printable form of a decision about a pod.
type decisionView struct {
	Time    time.Time `json:"time"`
	UID     string    `json:"uid"`
	Action  string    `json:"action"`            // see view
	Attempt int       `json:"attempt,omitempty"` // 1 for the first
	Node    string    `json:"node,omitempty"`
	Message string    `json:"message,omitempty"`
	// Plugins are the plugins that rejected the pod.
	Plugins []string `json:"plugins,omitempty"`
	Victims []string `json:"victims,omitempty"` // namespace/name
	// Outcome is the result of the API request, or empty while it is unknown.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"` // empty if the outcome is Done
}

// debugPod serves the latest decisions about a pod.
func (s *scheduler) debugPod(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	decisions := []decisionView{}
	for _, t := range s.decisions.forPod(namespace, name) {
		decisions = append(decisions, t.view())
	}
	if len(decisions) == 0 {
		http.Error(w, fmt.Sprintf("pod %s/%s: no recent decisions; the last %d rejections and %d bindings of all pods are kept", namespace, name, decisionCacheSize, decisionCacheSize), http.StatusNotFound)
		return
	}
	value := map[string]any{"namespace": namespace, "name": name, "decisions": decisions}
	reply(w, r, value, func(w io.Writer) { printDecisions(w, decisions) })
}

// view returns the printable form of a trace.
func (t *trace) view() decisionView {
	v := decisionView{Time: t.decided, UID: t.pod.UID}
	switch e := t.effect.(type) {
	case scheduling.Bind:
		v.Action, v.Attempt, v.Node = "bind", e.Attempt, e.Node
	case scheduling.ReportBound:
		v.Action, v.Attempt, v.Node = "report bound", e.Attempt, e.Node
	case scheduling.BindVolumes:
		v.Action, v.Node = "prepare volumes", e.Node
	case scheduling.ReportUnschedulable:
		v.Action, v.Attempt, v.Message = "reject", e.Attempt, explain.Message(e.Summary)
		v.Plugins = pluginNames(e.Summary.UnschedulablePlugins)
	case scheduling.ReportGated:
		v.Action, v.Message, v.Plugins = "gate", explain.GatedMessage(e.Verdict), []string{e.Verdict.Plugin.String()}
	case scheduling.Preempt:
		v.Action, v.Node, v.Victims = "preempt", e.Plan.Node, podKeys(e.Plan.Victims)
	case scheduling.ReportDeferredResize:
		v.Action, v.Message = "defer resize", explain.Message(e.Summary)
	case scheduling.ClearNomination:
		v.Action = "clear nomination"
	case scheduling.CallExtenders:
		v.Action, v.Message = "call extenders", fmt.Sprintf("%d nodes", len(e.Nodes))
	case scheduling.MissedWakeup:
		v.Action, v.Node, v.Plugins = "missed wake-up", e.Node, pluginNames(e.RejectedBy)
	case scheduling.CallPreemptionExtenders:
		v.Action, v.Message = "call extenders for victims", fmt.Sprintf("%d candidates", len(e.Candidates))
	}
	if !t.executed.IsZero() {
		v.Outcome, v.Reason = t.result.String(), t.reason
	}
	return v
}

func pluginNames(set decision.PluginSet) []string {
	var out []string
	for p := decision.NoPlugin + 1; p < decision.NumPlugins; p++ {
		if set.Has(p) {
			out = append(out, p.String())
		}
	}
	return out
}

func podKeys(pods []*model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Key())
	}
	return out
}

func printDecisions(w io.Writer, decisions []decisionView) {
	t := table.New(table.Columns("TIME", "ACTION", "ATTEMPT", "NODE", "OUTCOME", "MESSAGE"), nil)
	t.Key = 2
	for _, s := range decisions {
		message := s.Message
		if len(s.Victims) > 0 {
			message = "victims " + strings.Join(s.Victims, ", ")
		}
		if s.Reason != "" {
			message = strings.TrimPrefix(message+"; "+s.Reason, "; ")
		}
		attempt := ""
		if s.Attempt > 0 {
			attempt = fmt.Sprint(s.Attempt)
		}
		t.AddRow(s.Time.UTC().Format(time.RFC3339), s.Action, orDash(attempt), orDash(s.Node), orDash(s.Outcome), message)
	}
	_ = t.Write(w, false)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
