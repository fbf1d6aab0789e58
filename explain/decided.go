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

// DecisionsText writes what was decided about pods of a name, none of which is there any more.
func DecisionsText(w io.Writer, pod string, list []journal.Decision) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s is not there any more\n", pod)
	decided(&b, list)
	_, err := io.WriteString(w, b.String())
	return err
}

// DecisionsJSON is DecisionsText as JSON.
func DecisionsJSON(pod string, list []journal.Decision) ([]byte, error) {
	return json.MarshalIndent(struct {
		Pod     string             `json:"pod"`
		Decided []journal.Decision `json:"decided"`
	}{pod, list}, "", "  ")
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
		parts = append(parts, d.Message)
	}
	if d.Why != "" {
		parts = append(parts, d.Outcome+": "+d.Why)
	}
	return strings.Join(parts, "; ")
}
