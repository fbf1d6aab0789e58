package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/internal/table"
)

// PendingPod is a pod without a node as the API shows it. The API has neither attempts nor
// backoff; `berth queue --scheduler` reads these from the scheduler.
type PendingPod struct {
	Pod       string    `json:"pod"` // namespace/name
	Scheduler string    `json:"scheduler"`
	Priority  int32     `json:"priority"`
	State     string    `json:"state"` // see pendingOrder
	Created   time.Time `json:"created,omitzero"`
	Since     time.Time `json:"since,omitzero"` // of the state; creation time if unknown
	Nominated string    `json:"nominatedNode,omitempty"`
	Message   string    `json:"message,omitempty"` // of the last attempt
	Gates     []string  `json:"gates,omitempty"`
}

// The states of a PendingPod.
const (
	PendingNominated     = "nominated"     // has a nominated node
	PendingNew           = "new"           // not tried yet
	PendingError         = "error"         // the last attempt failed
	PendingUnschedulable = "unschedulable" // no node fits
	PendingGated         = "gated"         // has scheduling gates
)

// pendingOrder lists the states in the order of the output.
var pendingOrder = []string{PendingNominated, PendingNew, PendingError, PendingUnschedulable, PendingGated}

// SortPendingPods sorts pods by state, then by priority, then by age.
func SortPendingPods(list []PendingPod) {
	slices.SortStableFunc(list, func(a, b PendingPod) int {
		return cmp.Or(cmp.Compare(slices.Index(pendingOrder, a.State), slices.Index(pendingOrder, b.State)),
			cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod))
	})
}

// QueueText writes a table of pending pods.
func QueueText(w io.Writer, list []PendingPod, o TextOptions) error {
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
		b.WriteByte('\n')
		t := table.New(table.Columns("POD", "PRIORITY", "STATE", "AGE", "WAITS FOR"), table.WideColumns("SINCE", "SCHEDULER", "NOMINATED NODE"))
		shown := o.limit(len(list))
		for _, p := range list[:shown] {
			t.AddRow(p.Pod, fmt.Sprint(p.Priority), p.State, ageOf(o.Now, p.Created), waitsFor(&p), ageOf(o.Now, p.Since), orDash(p.Scheduler), orDash(p.Nominated))
		}
		_ = t.Write(&b, o.Wide)
		if more := len(list) - shown; more > 0 {
			fmt.Fprintf(&b, "and %d more (--all shows them)\n", more)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func waitsFor(p *PendingPod) string {
	switch p.State {
	case PendingGated:
		return "gates " + strings.Join(p.Gates, ", ")
	case PendingNominated:
		return "victims on " + p.Nominated
	case PendingNew:
		if p.Scheduler == "" { // a dump without schedulerName
			return "the first attempt"
		}
		return "the first attempt of " + p.Scheduler
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
