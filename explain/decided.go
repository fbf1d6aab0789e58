package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

// mostDecided is how many decisions about a pod are shown: the newest.
const mostDecided = 20

// Gone is what is known of pods of a name, none of which is there any more.
type Gone struct {
	Pod       string // namespace/name
	Decided   []journal.Decision
	Displaced []*journal.Displacement // the newest first
}

// Text writes it for a person.
func (g Gone) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s is not there any more\n", g.Pod)
	if len(g.Displaced) > 0 {
		d := g.Displaced[0]
		by := askedBy(d)
		if by != "" {
			by = ", asked by " + by
		}
		fmt.Fprintf(&b, "it was displaced from %s at %s: %s%s (berth explain displacement %s tells more)\n", dash(line(d.Node)), d.Time.UTC().Format(time.RFC3339), line(d.Cause), by, g.Pod)
	}
	if len(g.Decided) > 0 {
		decided(&b, g.Decided)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON is the same for a script. The names of fields are stable.
func (g Gone) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		Pod       string                  `json:"pod"`
		Displaced []*journal.Displacement `json:"displaced,omitempty"`
		Decided   []journal.Decision      `json:"decided"`
	}{g.Pod, g.Displaced, append([]journal.Decision{}, g.Decided...)}, "", "  ")
}

// decided words what a journal has, namesakes one after the other.
func decided(b *strings.Builder, list []journal.Decision) {
	b.WriteString("decided, as the scheduler's journal has it")
	if more := len(list) - mostDecided; more > 0 {
		fmt.Fprintf(b, " (%d older ones: -o json)", more)
		list = list[more:]
	}
	b.WriteString(":\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	uid := list[0].UID
	for _, d := range list {
		if d.UID != uid {
			fmt.Fprintf(t, "  another pod of this name, uid %s:\n", d.UID)
			uid = d.UID
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", d.Time.UTC().Format(time.RFC3339), d.What, outcomeOf(d))
	}
	_ = t.Flush()
}

// outcomeOf is what a decision was and what became of it.
func outcomeOf(d journal.Decision) string {
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
		parts = append(parts, line(d.Message))
	}
	if d.Why != "" {
		parts = append(parts, d.Outcome+": "+d.Why)
	}
	return strings.Join(parts, "; ")
}
