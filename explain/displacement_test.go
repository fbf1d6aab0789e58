package explain

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

var displacedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// testDisplacements returns a recorded displacement with a replacement, and one reconstructed
// from conditions and events.
func testDisplacements() []*journal.Displacement {
	after := func(d time.Duration) *time.Time {
		t := displacedAt.Add(d)
		return &t
	}
	return []*journal.Displacement{
		{Time: displacedAt, Cause: "Preemption", Pod: journal.Pod{Namespace: "ns", Name: "low"}, Node: "n1", Writer: "default-scheduler",
			Preemptor: &journal.Pod{Namespace: "ns", Name: "high", Priority: 1000}, Owner: &journal.Owner{Kind: "ReplicaSet", Name: "web"},
			Budgets: []journal.Budget{{Name: "a", Before: 2, After: 1}, {Name: "b", Overruled: true}}, Deleted: after(2 * time.Second),
			Replacement: &journal.Replacement{Name: "low-2", Node: "n3", Created: after(0), Scheduled: after(time.Second), Ready: after(90 * time.Second)}},
		{Time: displacedAt.Add(-time.Hour), Cause: "Pressure", Pod: journal.Pod{Namespace: "ns", Name: "fat"}, Node: "n2", Reconstructed: true,
			Message: "The node was low on resource: memory."},
	}
}

func TestEvictionsText(t *testing.T) {
	var b strings.Builder
	if err := EvictionsText(&b, testDisplacements(), TextOptions{Now: displacedAt.Add(5 * time.Minute), Limit: 1}); err != nil {
		t.Fatal(err)
	}
	want := `2 displaced: 1 by Preemption, 1 by Pressure

AGO  POD     CAUSE       REQUESTED BY  NODE  REPLACEMENT
5m   ns/low  Preemption  pod ns/high   n1    low-2 on n3
and 1 more (--all shows them)
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestDisplacementText(t *testing.T) {
	for i, want := range []string{`ns/low was displaced from node n1 at 2026-01-02 03:04:05 UTC, 5m ago
  cause        Preemption: a pod of higher priority needed its resources
  for          pod ns/high (priority 1000 over 0)
  budgets      a allowed 2, then 1; b overruled (allowed 0)
  grace        the pod's own
  owner        ReplicaSet/web
  deleted      after 2s
  replacement  low-2, created after 0s, on node n3 after 1s, ready after 1m30s
  source       the record of default-scheduler
2 earlier displacements of pods with this name (-o json lists them)
`, `ns/fat was displaced from node n2 at 2026-01-02 02:04:05 UTC, 65m ago
  cause        Pressure: its node ran short of memory, disk or pids
  message      The node was low on resource: memory.
  budgets      not checked for this cause
  deleted      not yet
  replacement  none: the pod had no controller
  source       the pod's condition and events; the component that displaced it
               wrote no record
`} {
		var b strings.Builder
		if err := DisplacementText(&b, testDisplacements()[i], 2-2*i, displacedAt.Add(5*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	}
}

// TestForgedRecords checks that text in records can neither control a terminal nor add
// lines.
func TestForgedRecords(t *testing.T) {
	const forgedText = "x\x1b[2J\nall good"
	pod := journal.Pod{Namespace: forgedText, Name: forgedText, UID: forgedText}
	forged := []*journal.Displacement{
		{Time: displacedAt, Pod: pod, Node: forgedText, Cause: forgedText, Reason: forgedText, Message: forgedText, RequestedBy: forgedText, Rule: forgedText, Writer: forgedText, Owner: &journal.Owner{Kind: forgedText, Name: forgedText},
			Budgets: []journal.Budget{{Name: forgedText}, {Name: forgedText, Overruled: true}}, Replacement: &journal.Replacement{Name: forgedText, Node: forgedText}},
		{Time: displacedAt, Pod: pod, Node: forgedText, Cause: forgedText, Preemptor: &pod, Writer: forgedText, Replacement: &journal.Replacement{Name: forgedText}},
	}
	var b strings.Builder
	err := EvictionsText(&b, forged, TextOptions{Now: displacedAt, Limit: 2})
	for _, d := range forged {
		err = errors.Join(err, DisplacementText(&b, d, 0, displacedAt), DeletedPod{Pod: "ns/p", Displacements: []*journal.Displacement{d}}.Text(&b))
	}
	if err != nil || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\nall good") {
		t.Errorf("got error %v and %q, want no escape sequence and no added line", err, b.String())
	}
}
