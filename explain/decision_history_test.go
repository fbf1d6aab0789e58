package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/internal/journal"
)

func TestDecisionHistory(t *testing.T) {
	at := time.Unix(1e9, 0)
	list := []journal.Decision{
		{Time: at, UID: "u1", Action: "reject", Attempt: 1, Message: "0/2 nodes are available", Outcome: "done"},
		{Time: at.Add(time.Minute), UID: "u1", Action: "bind", Attempt: 2, Node: "n1", Outcome: "conflict", Reason: "it is bound"},
		{Time: at.Add(time.Hour), UID: "u2", Action: "preempt", Node: "n2", Victims: []string{"ns/a", "ns/b"}},
	}
	var b strings.Builder
	if err := (DeletedPod{Pod: "ns/p", Decisions: list}).Text(&b); err != nil {
		t.Fatal(err)
	}
	const want = `pod ns/p no longer exists
Decisions in the scheduler's journal
  2001-09-09T02:46:40Z  preempt  node n2; victims ns/a, ns/b
  an earlier pod of this name, uid u1, deleted:
  2001-09-09T01:46:40Z  reject  attempt 1; 0/2 nodes are available
  2001-09-09T01:47:40Z  bind    node n1; attempt 2; conflict: it is bound
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	deletedPod := DeletedPod{Pod: "ns/p", Displacements: []*journal.Displacement{{Time: at, Node: "n1", Cause: "Preemption", Preemptor: &journal.Pod{Namespace: "ns", Name: "high"}}}}
	const wantDisplaced = `pod ns/p no longer exists
it was displaced from n1 at 2001-09-09T01:46:40Z: Preemption, requested by pod ns/high (see berth explain displacement ns/p)
`
	if err := deletedPod.Text(&b); err != nil || b.String() != wantDisplaced {
		t.Errorf("got error %v and\n%s\nwant\n%s", err, b.String(), wantDisplaced)
	}
	b.Reset()
	for range 30 {
		list = append(list, list[2])
	}
	if err := (DeletedPod{Pod: "ns/p", Decisions: list}).Text(&b); err != nil || !strings.Contains(b.String(), "(13 older ones: -o json)") || strings.Count(b.String(), "\n") != 22 || strings.Contains(b.String(), "u1") {
		t.Errorf("got error %v and\n%s\nwant the newest 20 decisions", err, b.String())
	}
}

// TestDecisionHistoryOrder checks that decisions about an earlier pod of the same name come
// last and leave room for those of the current pod.
func TestDecisionHistoryOrder(t *testing.T) {
	at := time.Unix(1e9, 0)
	var list []journal.Decision
	for i := range 30 {
		list = append(list, journal.Decision{Time: at.Add(time.Duration(i) * time.Second), UID: []string{"older", "old", "now"}[i/10], Action: "reject", Attempt: i%10 + 1})
	}
	p := pod("p", "", 0, 1)
	p.UID = "now"
	e := &PodExplanation{Record: &decision.Record{Pod: "default/p", Outcome: decision.Skipped}, Pod: p, Decisions: append(list, journal.Decision{Time: at.Add(time.Minute), UID: "old", Action: "bind"})}
	got := explanationText(t, e)
	_, decisions, _ := strings.Cut(got, "journal (11 older ones: -o json):\n")
	lines := strings.Split(decisions, "\n")
	if len(lines) != 22 || !strings.HasPrefix(lines[0], "  2001-09-09T01:47:00Z  reject  attempt 1") || lines[10] != "  an earlier pod of this name, uid old, deleted:" ||
		!strings.HasPrefix(lines[20], "  2001-09-09T01:47:40Z  bind") {
		t.Errorf("got\n%s\nwant 10 decisions of UID now, then the last 10 of UID old", got)
	}
	data, err := e.JSON()
	var view struct {
		UID       string
		Decisions []journal.Decision
	}
	if err != nil || json.Unmarshal(data, &view) != nil || view.UID != "now" || len(view.Decisions) != 31 || view.Decisions[0].UID != "now" || view.Decisions[10].UID != "old" || view.Decisions[30].UID != "older" {
		t.Errorf("got error %v and %s, want 31 decisions, those of UID now first", err, data)
	}
	p.UID = "new" // no decision about it yet
	if got := explanationText(t, e); !strings.Contains(got, "older ones: -o json):\n  an earlier pod of this name, uid now, deleted:\n") {
		t.Errorf("got\n%s\nwant UID now as an earlier pod", got)
	}
}
