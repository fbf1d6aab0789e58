package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/table"
)

// Text writes the explanation as text.
func (e *NodeExplanation) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	b.WriteString("node " + e.Node.Name)
	if e.Node.Unschedulable {
		b.WriteString(", cordoned")
	}
	if !e.Node.Ready {
		b.WriteString(", not ready")
	}
	b.WriteString("\n")
	e.writeState(&b, o.Now)
	e.writeResources(&b)
	e.writePods(&b, o)
	e.writeReservations(&b, o.Now)
	e.writePending(&b, o.Limit == 0)
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *NodeExplanation) writeState(b *strings.Builder, now time.Time) {
	for _, t := range e.Node.Taints {
		fmt.Fprintf(b, "taint %s\n", taintText(&t))
	}
	for _, c := range e.Conditions {
		if (c.Type == "Ready") == (c.Status == "True") {
			continue // healthy
		}
		fmt.Fprintf(b, "condition %s=%s for %s: %s %s\n", c.Type, c.Status, ageOf(now, c.Since), oneLine(c.Reason), oneLine(c.Message))
	}
}

// resourceRow is the requested and allocatable amount of a resource, in the units of FormatQuantity.
type resourceRow struct {
	name                   string
	requested, allocatable int64
}

func (e *NodeExplanation) resourceRows() []resourceRow {
	allocatable := &e.Node.Allocatable
	rows := []resourceRow{{"cpu", e.Used.MilliCPU, allocatable.MilliCPU}, {"memory", e.Used.Memory, allocatable.Memory}}
	if allocatable.Ephemeral > 0 || e.Used.Ephemeral > 0 {
		rows = append(rows, resourceRow{"ephemeral-storage", e.Used.Ephemeral, allocatable.Ephemeral})
	}
	for _, sc := range allocatable.Scalars {
		rows = append(rows, resourceRow{sc.Name, e.Used.Scalar(sc.Name), sc.Amount})
	}
	return append(rows, resourceRow{"pods", int64(len(e.Pods)), e.Node.AllocatablePods})
}

func (e *NodeExplanation) writeResources(b *strings.Builder) {
	b.WriteString("\n")
	t := table.New(table.Columns("RESOURCE", "REQUESTED", "ALLOCATABLE", "FREE", "USED"), nil)
	for _, r := range e.resourceRows() {
		share := "-"
		if r.allocatable > 0 {
			share = fmt.Sprintf("%d%%", 100*r.requested/r.allocatable)
		}
		t.AddRow(r.name, FormatQuantity(r.name, r.requested), FormatQuantity(r.name, r.allocatable), FormatQuantity(r.name, r.allocatable-r.requested), share)
	}
	_ = t.Write(b, false)
}

func (e *NodeExplanation) writePods(b *strings.Builder, o TextOptions) {
	if len(e.Pods) == 0 {
		b.WriteString("\nNo pods\n")
		return
	}
	b.WriteString("\n")
	t := table.New(table.Columns("POD", "PRIORITY", "CPU", "MEMORY", "STATE"), table.WideColumns("EPHEMERAL-STORAGE", "OWNER"))
	shown := o.limit(len(e.Pods))
	for _, p := range e.Pods[:shown] {
		r, owner := &p.Spec.Requests, "-"
		if p.Owner.Kind != "" {
			owner = p.Owner.Kind + "/" + p.Owner.Name
		}
		t.AddRow(p.Key(), fmt.Sprint(p.Spec.Priority), FormatQuantity("cpu", r.MilliCPU), FormatQuantity("memory", r.Memory), podState(p),
			FormatQuantity("ephemeral-storage", r.Ephemeral), owner)
	}
	_ = t.Write(b, o.Wide)
	if more := len(e.Pods) - shown; more > 0 {
		fmt.Fprintf(b, "and %d smaller ones (--pods shows all)\n", more)
	}
}

func podState(p *model.Pod) string {
	switch {
	case p.Deleting:
		return "terminating"
	case p.Ready:
		return "ready"
	case p.Phase == model.Running:
		return "running"
	}
	return "starting"
}

// writeReservations writes nominated pods and Holds.
func (e *NodeExplanation) writeReservations(b *strings.Builder, now time.Time) {
	if len(e.Nominated)+len(e.Holds) > 0 {
		b.WriteString("\n")
	}
	for _, p := range e.Nominated {
		fmt.Fprintf(b, "reserved for nominated pod %s (priority %d)\n", p.Key(), p.Spec.Priority)
	}
	for _, h := range e.Holds {
		owner := fmt.Sprintf("the pods of %s %s/%s", h.Owner.Kind, h.Namespace, h.Owner.Name)
		if h.Type == model.Avoid {
			fmt.Fprintf(b, "avoided by %s, for %s, after %d displacements for %s (hold %s)\n", owner, ageOf(h.Until, now), h.Count, h.Cause, h.Name)
			continue
		}
		fmt.Fprintf(b, "reserved for %s, for %s, cause %s (hold %s)\n", owner, ageOf(h.Until, now), h.Cause, h.Name)
	}
}

// writePending writes the pending pods that fit, and why the others do not.
func (e *NodeExplanation) writePending(b *strings.Builder, all bool) {
	if len(e.Fits) == 0 && len(e.Rejected) == 0 {
		b.WriteString("\nNo pending pods\n")
		return
	}
	limit := maxNames
	if all {
		limit = 1 << 30
	}
	if len(e.Fits) > 0 {
		fmt.Fprintf(b, "\n%d pending pods fit: %s\n", len(e.Fits), abbreviate(e.Fits, limit))
	} else {
		fmt.Fprintf(b, "\nnone of %d pending pods fit\n", len(e.Rejected))
	}
	if len(e.Rejected) > 0 {
		b.WriteString("Rejected\n")
	}
	// groupNodes groups by node; here pods take the place of nodes.
	records := make([]decision.NodeRecord, len(e.Rejected))
	for i, r := range e.Rejected {
		records[i] = decision.NodeRecord{Name: r.Pod, Verdict: r.Verdict}
	}
	for _, g := range groupNodes(records) {
		names := make([]string, len(g.records))
		for i, n := range g.records {
			names[i] = n.Name
		}
		fmt.Fprintf(b, "  %s: %s: %s\n", abbreviate(names, limit), pluginText(g.plugin), g.text())
	}
	if e.NotEvaluated > 0 {
		fmt.Fprintf(b, "  %d more pods were not evaluated\n", e.NotEvaluated)
	}
}

// ageOf formats the time from then to now.
func ageOf(now, then time.Time) string {
	if then.IsZero() {
		return "?"
	}
	d := now.Sub(then)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}
