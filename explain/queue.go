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
)

// PendingPod is a pod without a node as the API shows it. The API has neither attempts nor
// back-off; `berth queue --scheduler` reads these from the scheduler.
type PendingPod struct {
	Pod       string    `json:"pod"` // namespace/name
	Scheduler string    `json:"scheduler"`
	Priority  int32     `json:"priority"`
	State     string    `json:"state"` // new, gated, unschedulable, nominated, error
	Created   time.Time `json:"created,omitzero"`
	Since     time.Time `json:"since,omitzero"` // of the state; creation time if unknown
	Nominated string    `json:"nominatedNode,omitempty"`
	Message   string    `json:"message,omitempty"` // of the last attempt
	Gates     []string  `json:"gates,omitempty"`
}

// The states of a PendingPod, in the order in which pods are tried.
const (
	PendingNominated     = "nominated"
	PendingNew           = "new"
	PendingUnschedulable = "unschedulable"
	PendingError         = "error"
	PendingGated         = "gated"
)

var pendingOrder = []string{PendingNominated, PendingNew, PendingError, PendingUnschedulable, PendingGated}

// SortPendingPods sorts pods by state, then by priority, then by age.
func SortPendingPods(list []PendingPod) {
	slices.SortStableFunc(list, func(a, b PendingPod) int {
		return cmp.Or(cmp.Compare(slices.Index(pendingOrder, a.State), slices.Index(pendingOrder, b.State)),
			cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod))
	})
}

// QueueText writes a table of pending pods, limited to most entries if most is positive.
func QueueText(w io.Writer, list []PendingPod, now time.Time, most int) error {
	var b strings.Builder
	counts := map[string]int{}
	for _, p := range list {
		counts[p.State]++
	}
	var parts []string
	for _, state := range pendingOrder {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	fmt.Fprintf(&b, "%d waiting", len(list))
	if len(parts) > 0 {
		b.WriteString(": " + strings.Join(parts, ", "))
	}
	b.WriteString("\n")
	if len(list) > 0 {
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "POD\tPRIORITY\tSTATE\tSINCE\tAGE\tWAITS FOR")
		for i, p := range list {
			if most > 0 && i == most {
				fmt.Fprintf(t, "and %d more (--all shows them)\n", len(list)-i)
				break
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\n", p.Pod, p.Priority, p.State, ageOf(now, p.Since), ageOf(now, p.Created), waitsFor(&p))
		}
		_ = t.Flush()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// waitsFor returns what a pod waits for.
func waitsFor(p *PendingPod) string {
	switch p.State {
	case PendingGated:
		return "gates " + strings.Join(p.Gates, ", ")
	case PendingNominated:
		return "room on " + p.Nominated
	case PendingNew:
		return "its turn with " + p.Scheduler
	}
	text, _, _ := strings.Cut(p.Message, " preemption: ")
	return strings.TrimSuffix(text, ".")
}

// QueueJSON returns the list as JSON. The names of fields are stable.
func QueueJSON(list []PendingPod) ([]byte, error) {
	if list == nil {
		list = []PendingPod{}
	}
	return json.MarshalIndent(map[string]any{"pods": list}, "", "  ")
}
