package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/table"
)

// Text writes the explanation as text.
func (a *NodeExplanation) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	b.WriteString("node " + a.Node.Name)
	if a.Node.Unschedulable {
		b.WriteString(", cordoned")
	}
	if !a.Node.Ready {
		b.WriteString(", not ready")
	}
	b.WriteString("\n")
	a.writeState(&b, o.Now)
	a.writeResources(&b)
	a.writePods(&b, o)
	a.writeReservations(&b, o.Now)
	a.writePending(&b, o.Limit == 0)
	_, err := io.WriteString(w, b.String())
	return err
}

func (a *NodeExplanation) writeState(b *strings.Builder, now time.Time) {
	for _, t := range a.Node.Taints {
		fmt.Fprintf(b, "taint %s\n", taintText(&t))
	}
	for _, c := range a.Conditions {
		if (c.Type == "Ready") == (c.Status == "True") {
			continue // healthy
		}
		fmt.Fprintf(b, "condition %s=%s for %s: %s %s\n", c.Type, c.Status, ageOf(now, c.Since), oneLine(c.Reason), oneLine(c.Message))
	}
}

// resourceRow is the requested and allocatable amount of a resource.
type resourceRow struct {
	name       string
	used, have int64
}

func (a *NodeExplanation) resourceRows() []resourceRow {
	have := &a.Node.Allocatable
	rows := []resourceRow{{"cpu", a.Used.MilliCPU, have.MilliCPU}, {"memory", a.Used.Memory, have.Memory}}
	if have.Ephemeral > 0 || a.Used.Ephemeral > 0 {
		rows = append(rows, resourceRow{"ephemeral-storage", a.Used.Ephemeral, have.Ephemeral})
	}
	for _, sc := range have.Scalars {
		rows = append(rows, resourceRow{sc.Name, a.Used.Scalar(sc.Name), sc.Amount})
	}
	return append(rows, resourceRow{"pods", int64(len(a.Pods)), a.Node.AllocatablePods})
}

func (a *NodeExplanation) writeResources(b *strings.Builder) {
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RESOURCE\tREQUESTED\tALLOCATABLE\tFREE\tUSED")
	for _, r := range a.resourceRows() {
		share := "-"
		if r.have > 0 {
			share = fmt.Sprintf("%d%%", 100*r.used/r.have)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.name, FormatQuantity(r.name, r.used), FormatQuantity(r.name, r.have), FormatQuantity(r.name, r.have-r.used), share)
	}
	_ = t.Flush()
}

func (a *NodeExplanation) writePods(b *strings.Builder, o TextOptions) {
	if len(a.Pods) == 0 {
		b.WriteString("\nno pods\n")
		return
	}
	b.WriteString("\n")
	t := table.New(table.Columns("POD", "PRIORITY", "CPU", "MEMORY", "STATE"), table.WideColumns("EPHEMERAL-STORAGE", "OWNER"))
	shown := o.limited(len(a.Pods))
	for _, p := range a.Pods[:shown] {
		r, owner := &p.Spec.Requests, "-"
		if p.Owner.Kind != "" {
			owner = p.Owner.Kind + "/" + p.Owner.Name
		}
		t.AddRow(p.Key(), fmt.Sprint(p.Spec.Priority), FormatQuantity("cpu", r.MilliCPU), FormatQuantity("memory", r.Memory), podState(p),
			FormatQuantity("ephemeral-storage", r.Ephemeral), owner)
	}
	_ = t.Write(b, o.Wide)
	if more := len(a.Pods) - shown; more > 0 {
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
func (a *NodeExplanation) writeReservations(b *strings.Builder, now time.Time) {
	if len(a.Nominated)+len(a.Holds) > 0 {
		b.WriteString("\n")
	}
	for _, p := range a.Nominated {
		fmt.Fprintf(b, "reserved for nominated pod %s (priority %d)\n", p.Key(), p.Spec.Priority)
	}
	for _, h := range a.Holds {
		owner := fmt.Sprintf("the pods of %s %s/%s", h.Owner.Kind, h.Namespace, h.Owner.Name)
		if h.Type == model.Avoid {
			fmt.Fprintf(b, "avoided by %s, for %s, after %d displacements for %s (hold %s)\n", owner, ageOf(h.Until, now), h.Count, h.Cause, h.Name)
			continue
		}
		fmt.Fprintf(b, "reserved for %s, for %s, cause %s (hold %s)\n", owner, ageOf(h.Until, now), h.Cause, h.Name)
	}
}

// writePending writes the pending pods that fit, and why others do not.
func (a *NodeExplanation) writePending(b *strings.Builder, all bool) {
	if len(a.Fits) == 0 && len(a.Rejected) == 0 {
		b.WriteString("\nno pending pods\n")
		return
	}
	limit := maxNames
	if all {
		limit = 1 << 30
	}
	if len(a.Fits) > 0 {
		fmt.Fprintf(b, "\n%d pending pods fit: %s\n", len(a.Fits), abbreviate(a.Fits, limit))
	} else {
		fmt.Fprintf(b, "\nnone of %d pending pods fit\n", len(a.Rejected))
	}
	if len(a.Rejected) > 0 {
		b.WriteString("rejected\n")
	}
	// groupNodes groups by node; here pods take the place of nodes.
	records := make([]decision.NodeRecord, len(a.Rejected))
	for i, r := range a.Rejected {
		records[i] = decision.NodeRecord{Name: r.Pod, Verdict: r.Verdict}
	}
	for _, g := range groupNodes(records) {
		names := make([]string, len(g.records))
		for i, n := range g.records {
			names[i] = n.Name
		}
		fmt.Fprintf(b, "  %s: %s: %s\n", abbreviate(names, limit), pluginText(g.plugin), g.text())
	}
	if a.NotEvaluated > 0 {
		fmt.Fprintf(b, "  %d more pods were not evaluated\n", a.NotEvaluated)
	}
}

// ageOf formats the time since then.
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
