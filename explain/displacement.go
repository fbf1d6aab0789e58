package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/table"
)

// EvictionsText writes a table of displacements.
func EvictionsText(w io.Writer, list []*journal.Displacement, o TextOptions) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d displaced%s\n", len(list), formatCauses(list))
	if len(list) > 0 {
		b.WriteByte('\n')
		t := table.New(table.Columns("AGO", "POD", "CAUSE", "REQUESTED BY", "NODE", "REPLACEMENT"),
			table.WideColumns("READY AFTER", "BUDGETS", "OWNER", "DELETED AFTER", "MESSAGE"))
		t.Key = 2
		shown := o.limit(len(list))
		for _, d := range list[:shown] {
			t.AddRow(ageOf(o.Now, d.Time), oneLine(d.Pod.Key()), oneLine(d.Cause), orDash(requestedBy(d)), orDash(oneLine(d.Node)), replacementOf(d),
				readyAfter(d), budgetsOf(d), ownerOf(d), deletedAfter(d), orDash(oneLine(d.Message)))
		}
		_ = t.Write(&b, o.Wide)
		if more := len(list) - shown; more > 0 {
			fmt.Fprintf(&b, "and %d more (--all shows them)\n", more)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// EvictionsJSON returns the list as JSON. The names of fields are stable.
func EvictionsJSON(list []*journal.Displacement) ([]byte, error) {
	if list == nil {
		list = []*journal.Displacement{}
	}
	return json.MarshalIndent(map[string]any{"displacements": list}, "", "  ")
}

func formatCauses(list []*journal.Displacement) string {
	counts := map[string]int{}
	for _, d := range list {
		counts[d.Cause]++
	}
	var parts []string
	for _, c := range displacement.Causes() {
		if n := counts[c.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d by %s", n, c))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func requestedBy(d *journal.Displacement) string {
	switch {
	case d.Preemptor != nil:
		return oneLine("pod " + d.Preemptor.Key())
	case d.RequestedBy != "":
		return oneLine(d.RequestedBy)
	case !d.Reconstructed:
		return oneLine(d.Writer)
	}
	return ""
}

func budgetsOf(d *journal.Displacement) string {
	var parts []string
	for _, b := range d.Budgets {
		if b.Overruled {
			parts = append(parts, b.Name+" overruled")
		} else {
			parts = append(parts, fmt.Sprintf("%s %d to %d", b.Name, b.Before, b.After))
		}
	}
	return orDash(oneLine(strings.Join(parts, ", ")))
}

func replacementOf(d *journal.Displacement) string {
	switch r := d.Replacement; {
	case r == nil:
		return "-"
	case r.Node == "":
		return oneLine(r.Name) + ", waiting"
	default:
		return oneLine(r.Name + " on " + r.Node)
	}
}

func readyAfter(d *journal.Displacement) string {
	if d.Replacement == nil || d.Replacement.Ready == nil {
		return "-"
	}
	return formatElapsed(d.Time, *d.Replacement.Ready)
}

func ownerOf(d *journal.Displacement) string {
	if d.Owner == nil {
		return "-"
	}
	return oneLine(d.Owner.Kind + "/" + d.Owner.Name)
}

func deletedAfter(d *journal.Displacement) string {
	if d.Deleted == nil {
		return "-"
	}
	return formatElapsed(d.Time, *d.Deleted)
}

// formatElapsed formats a duration in seconds, the resolution of most API times.
func formatElapsed(from, to time.Time) string {
	return max(0, to.Truncate(time.Second).Sub(from.Truncate(time.Second))).String()
}

// DisplacementText writes the details of one displacement. earlier is the number of other
// displacements of pods with the same name.
func DisplacementText(w io.Writer, d *journal.Displacement, earlier int, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s was displaced", oneLine(d.Pod.Key()))
	if d.Node != "" {
		fmt.Fprintf(&b, " from node %s", oneLine(d.Node))
	}
	fmt.Fprintf(&b, " at %s, %s ago\n", d.Time.UTC().Format(time.DateTime+" MST"), ageOf(now, d.Time))
	t := table.New(table.Columns("", ""), nil)
	for _, line := range displacementLines(d) {
		t.AddRow("  "+line[0], oneLine(line[1]))
	}
	_ = t.Write(&b, false)
	if earlier > 0 {
		fmt.Fprintf(&b, "%d earlier displacements of pods with this name (-o json lists them)\n", earlier)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func displacementLines(d *journal.Displacement) (lines [][2]string) {
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, [2]string{label, text})
		}
	}
	cause, _ := displacement.ParseCause(d.Cause)
	add("cause", d.Cause+causeDescriptions[cause])
	add("requested by", d.RequestedBy)
	if p := d.Preemptor; p != nil {
		add("for", fmt.Sprintf("pod %s (priority %d over %d)", p.Key(), p.Priority, d.Pod.Priority))
	}
	add("plugin", d.Rule)
	add("message", d.Message)
	add("budgets", budgetText(d, cause))
	switch {
	case d.GraceSeconds != nil:
		add("grace", fmt.Sprintf("%d s", *d.GraceSeconds))
	case !d.Reconstructed:
		add("grace", "the pod's own")
	}
	if o := d.Owner; o != nil {
		add("owner", o.Kind+"/"+o.Name)
	}
	if d.Deleted != nil {
		add("deleted", "after "+formatElapsed(d.Time, *d.Deleted))
	} else {
		add("deleted", "not yet")
	}
	add("replacement", replacementText(d))
	if d.Reconstructed {
		add("source", "the pod's condition and events; the component that displaced it wrote no record")
	} else {
		add("source", "the record of "+orDash(d.Writer))
	}
	return lines
}

var causeDescriptions = map[displacement.Cause]string{
	displacement.Preemption: ": a pod of higher priority needed its resources",
	displacement.API:        ": its eviction was requested through the API",
	displacement.Taint:      ": it does not tolerate a NoExecute taint of the node, or its toleration expired",
	displacement.PodGC:      ": its node was deleted or is out of service",
	displacement.Pressure:   ": its node ran short of memory, disk or pids",
	displacement.Admission:  ": its node rejected it",
	displacement.Shutdown:   ": its node was shut down",
}

func budgetText(d *journal.Displacement, c displacement.Cause) string {
	var parts []string
	for _, b := range d.Budgets {
		if b.Overruled {
			parts = append(parts, fmt.Sprintf("%s overruled (allowed %d)", b.Name, b.Before))
		} else {
			parts = append(parts, fmt.Sprintf("%s allowed %d, then %d", b.Name, b.Before, b.After))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	case c.Policy().ObeyingAttempts == 0:
		return "not checked for this cause"
	case d.Reconstructed:
		return ""
	}
	return "none was debited"
}

func replacementText(d *journal.Displacement) string {
	r := d.Replacement
	switch {
	case d.Owner == nil && r == nil:
		return "none: the pod had no controller"
	case r == nil:
		return "none yet"
	}
	text := r.Name
	if r.Created != nil {
		text += ", created after " + formatElapsed(d.Time, *r.Created)
	}
	if r.Node == "" {
		return text + ", has no node yet"
	}
	text += ", on node " + r.Node
	if r.Scheduled != nil {
		text += " after " + formatElapsed(d.Time, *r.Scheduled)
	}
	if r.Ready == nil {
		return text + ", not ready yet"
	}
	return text + ", ready after " + formatElapsed(d.Time, *r.Ready)
}
