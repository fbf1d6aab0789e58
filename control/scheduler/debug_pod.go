package scheduler

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
)

// podStep is a decision about a pod in words.
type podStep struct {
	Time    time.Time `json:"time"`
	UID     string    `json:"uid"`
	What    string    `json:"what"`              // of podSteps
	Attempt int       `json:"attempt,omitempty"` // 1 for the first
	Node    string    `json:"node,omitempty"`
	Message string    `json:"message,omitempty"`
	// Rules rejected the pod.
	Rules   []string `json:"rules,omitempty"`
	Victims []string `json:"victims,omitempty"` // namespace/name
	// Outcome is how the API took it; empty while that is not known.
	Outcome string `json:"outcome,omitempty"`
	Why     string `json:"why,omitempty"` // unless it was done
}

// debugPod shows the last decisions about a pod.
func (s *shell) debugPod(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	steps := []podStep{}
	for _, t := range s.trail.of(namespace, name) {
		steps = append(steps, t.words())
	}
	if len(steps) == 0 {
		http.Error(w, fmt.Sprintf("pod %s/%s: nothing was decided about it lately: the last %d rejections and %d bindings of all pods are kept", namespace, name, remembered, remembered), http.StatusNotFound)
		return
	}
	value := map[string]any{"namespace": namespace, "name": name, "decisions": steps}
	reply(w, r, value, func(w io.Writer) { printSteps(w, steps) })
}

// words puts a trace into words.
func (t *trace) words() podStep {
	step := podStep{Time: t.at, UID: t.pod.UID}
	switch e := t.effect.(type) {
	case scheduling.Bind:
		step.What, step.Attempt, step.Node = "bind", e.Attempt, e.Node
	case scheduling.Bound:
		step.What, step.Attempt, step.Node = "found bound", e.Attempt, e.Node
	case scheduling.Prepare:
		step.What, step.Node = "prepare volumes", e.Node
	case scheduling.Reject:
		step.What, step.Attempt, step.Message = "reject", e.Attempt, explain.Message(e.Summary)
		step.Rules = rules(e.Summary.Rejectors)
	case scheduling.Hold:
		step.What, step.Message, step.Rules = "hold", explain.Held(e.Verdict), []string{e.Verdict.Rule.String()}
	case scheduling.Preempt:
		step.What, step.Node, step.Victims = "preempt", e.Plan.Node, keys(e.Plan.Victims)
	case scheduling.Unnominate:
		step.What = "take nomination back"
	case scheduling.Ask:
		step.What, step.Message = "ask extenders", fmt.Sprintf("%d nodes", len(e.Nodes))
	case scheduling.Missed:
		step.What, step.Node, step.Rules = "found to fit by the audit", e.Node, rules(e.Rules)
	case scheduling.AskVictims:
		step.What, step.Message = "ask extenders for victims", fmt.Sprintf("%d candidates", len(e.Candidates))
	}
	if !t.ended.IsZero() {
		step.Outcome, step.Why = t.result.String(), t.why
	}
	return step
}

// rules are the names of a set of rules, in their order.
func rules(set decision.RuleSet) []string {
	var out []string
	for r := decision.NoRule + 1; r < decision.NumRules; r++ {
		if set.Has(r) {
			out = append(out, r.String())
		}
	}
	return out
}

func keys(pods []*model.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Key())
	}
	return out
}

func printSteps(w io.Writer, steps []podStep) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TIME\tWHAT\tATTEMPT\tNODE\tOUTCOME\tMESSAGE")
	for _, s := range steps {
		message := s.Message
		if len(s.Victims) > 0 {
			message = "victims " + strings.Join(s.Victims, ", ")
		}
		if s.Why != "" {
			message = strings.TrimPrefix(message+"; "+s.Why, "; ")
		}
		attempt := ""
		if s.Attempt > 0 {
			attempt = fmt.Sprint(s.Attempt)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Time.UTC().Format(time.RFC3339), s.What, dash(attempt), dash(s.Node), dash(s.Outcome), message)
	}
	_ = t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
