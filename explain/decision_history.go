package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/table"
)

// maxDecisions is the maximum number of decisions about pods of a name that a text shows.
const maxDecisions = 20

// DeletedPod is what journals contain about deleted pods of one name.
type DeletedPod struct {
	Pod           string // namespace/name
	Decisions     []journal.Decision
	Displacements []*journal.Displacement // newest first
}

// Text writes the explanation as text.
func (p DeletedPod) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s no longer exists\n", p.Pod)
	if len(p.Displacements) > 0 {
		d := p.Displacements[0]
		requester := requestedBy(d)
		if requester != "" {
			requester = ", requested by " + requester
		}
		fmt.Fprintf(&b, "it was displaced from %s at %s: %s%s (see berth explain displacement %s)\n", orDash(oneLine(d.Node)), d.Time.UTC().Format(time.RFC3339), oneLine(d.Cause), requester, p.Pod)
	}
	if len(p.Decisions) > 0 {
		writeDecisions(&b, p.Decisions, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON returns the explanation as JSON. The names of fields are stable.
func (p DeletedPod) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		Pod           string                  `json:"pod"`
		Displacements []*journal.Displacement `json:"displacements,omitempty"`
		Decisions     []journal.Decision      `json:"decisions"`
	}{p.Pod, p.Displacements, append([]journal.Decision{}, p.Decisions...)}, "", "  ")
}

// writeDecisions writes decisions by pod: those of currentUID first, if there are any,
// then deleted pods of the same name, newest first.
func writeDecisions(b *strings.Builder, list []journal.Decision, currentUID string) {
	b.WriteString("Decisions in the scheduler's journal")
	if more := len(list) - maxDecisions; more > 0 {
		fmt.Fprintf(b, " (%d older ones: -o json)", more)
	}
	b.WriteString("\n")
	remaining := maxDecisions
	for i, group := range decisionsByUID(list, currentUID) {
		shown := group[max(0, len(group)-remaining):]
		if remaining -= len(shown); len(shown) == 0 {
			break
		}
		if uid := shown[0].UID; uid != currentUID && (currentUID != "" || i > 0) {
			fmt.Fprintf(b, "  an earlier pod of this name, uid %s, deleted:\n", uid)
		}
		t := table.New(table.Columns("", "", ""), nil)
		for _, d := range shown {
			t.AddRow("  "+d.Time.UTC().Format(time.RFC3339), d.Action, formatDecision(d))
		}
		_ = t.Write(b, false)
	}
}

// decisionsByUID returns decisions by pod UID: those of currentUID first, then of other pods,
// newest pod first. The order within a pod stays.
func decisionsByUID(list []journal.Decision, currentUID string) [][]journal.Decision {
	var out [][]journal.Decision
	for _, d := range list {
		i := slices.IndexFunc(out, func(group []journal.Decision) bool { return group[0].UID == d.UID })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], d)
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b []journal.Decision) int {
		return order.TrueFirst(a[0].UID == currentUID, b[0].UID == currentUID)
	})
	return out
}

func formatDecision(d journal.Decision) string {
	var parts []string
	if d.Node != "" {
		parts = append(parts, "node "+d.Node)
	}
	if d.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", d.Attempt))
	}
	if len(d.Victims) > 0 {
		parts = append(parts, "victims "+strings.Join(d.Victims, ", "))
	}
	if d.Message != "" {
		parts = append(parts, oneLine(d.Message))
	}
	if d.Reason != "" {
		parts = append(parts, d.Outcome+": "+d.Reason)
	}
	return strings.Join(parts, "; ")
}
