package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

// maxDecisions is how many decisions about a pod are shown: the newest.
const maxDecisions = 20

// DeletedPod is what is known of pods of a name, none of which is there any more.
type DeletedPod struct {
	Pod           string // namespace/name
	Decisions     []journal.Decision
	Displacements []*journal.Displacement // the newest first
}

// Text writes it for a person.
func (g DeletedPod) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s is not there any more\n", g.Pod)
	if len(g.Displacements) > 0 {
		d := g.Displacements[0]
		by := requestedBy(d)
		if by != "" {
			by = ", asked by " + by
		}
		fmt.Fprintf(&b, "it was displaced from %s at %s: %s%s (berth explain displacement %s tells more)\n", orDash(oneLine(d.Node)), d.Time.UTC().Format(time.RFC3339), oneLine(d.Cause), by, g.Pod)
	}
	if len(g.Decisions) > 0 {
		writeDecisions(&b, g.Decisions, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON is the same for a script. The names of fields are stable.
func (g DeletedPod) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		Pod       string                  `json:"pod"`
		Displaced []*journal.Displacement `json:"displaced,omitempty"`
		Decided   []journal.Decision      `json:"decided"`
	}{g.Pod, g.Displacements, append([]journal.Decision{}, g.Decisions...)}, "", "  ")
}

// writeDecisions words what a journal has, namesakes one after the other: first the one with the uid
// present, if there is one, whatever was decided about it, then those that are gone, the last one first.
func writeDecisions(b *strings.Builder, list []journal.Decision, present string) {
	b.WriteString("decided, as the scheduler's journal has it")
	if more := len(list) - maxDecisions; more > 0 {
		fmt.Fprintf(b, " (%d older ones: -o json)", more)
	}
	b.WriteString(":\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	left := maxDecisions
	for i, of := range decisionsByUID(list, present) {
		shown := of[max(0, len(of)-left):]
		if left -= len(shown); len(shown) == 0 {
			break
		}
		if uid := shown[0].UID; uid != present && (present != "" || i > 0) {
			fmt.Fprintf(t, "  an earlier pod of this name, uid %s, gone:\n", uid)
		}
		for _, d := range shown {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", d.Time.UTC().Format(time.RFC3339), d.Action, formatDecision(d))
		}
	}
	_ = t.Flush()
}

// decisionsByUID are decisions by the uid of their pod: of the present one first, then of the others, the
// last one first; of each the oldest decision first, as in the list.
func decisionsByUID(list []journal.Decision, present string) [][]journal.Decision {
	var out [][]journal.Decision
	for _, d := range list {
		i := slices.IndexFunc(out, func(of []journal.Decision) bool { return of[0].UID == d.UID })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], d)
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b []journal.Decision) int {
		return cmp.Compare(falseAfterTrue(a[0].UID == present), falseAfterTrue(b[0].UID == present))
	})
	return out
}

func falseAfterTrue(first bool) int {
	if first {
		return 0
	}
	return 1
}

// formatDecision is what a decision was and what became of it.
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
