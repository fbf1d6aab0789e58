package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

func TestWhatWasDecidedIsTold(t *testing.T) {
	at := time.Unix(1e9, 0)
	list := []journal.Decision{
		{Time: at, UID: "u1", What: "reject", Attempt: 1, Message: "0/2 nodes are available", Outcome: "done"},
		{Time: at.Add(time.Minute), UID: "u1", What: "bind", Attempt: 2, Node: "n1", Outcome: "conflict", Why: "it is bound"},
		{Time: at.Add(time.Hour), UID: "u2", What: "preempt", Node: "n2", Victims: []string{"ns/a", "ns/b"}},
	}
	var b strings.Builder
	if err := (Gone{Pod: "ns/p", Decided: list}).Text(&b); err != nil {
		t.Fatal(err)
	}
	const want = `pod ns/p is not there any more
decided, as the scheduler's journal has it:
  2001-09-09T01:46:40Z  reject  attempt 1; 0/2 nodes are available
  2001-09-09T01:47:40Z  bind    node n1; attempt 2; conflict: it is bound
  another pod of this name, uid u2:
  2001-09-09T02:46:40Z  preempt  node n2; victims ns/a, ns/b
`
	if b.String() != want {
		t.Errorf("said\n%s", b.String())
	}
	b.Reset()
	gone := Gone{Pod: "ns/p", Displaced: []*journal.Displacement{{Time: at, Node: "n1", Cause: "Preemption", For: &journal.Pod{Namespace: "ns", Name: "high"}}}}
	const displaced = `pod ns/p is not there any more
it was displaced from n1 at 2001-09-09T01:46:40Z: Preemption, asked by pod ns/high (berth explain displacement ns/p tells more)
`
	if err := gone.Text(&b); err != nil || b.String() != displaced {
		t.Errorf("%v, said\n%s", err, b.String())
	}
	b.Reset()
	for range 30 {
		list = append(list, list[2])
	}
	if err := (Gone{Pod: "ns/p", Decided: list}).Text(&b); err != nil || !strings.Contains(b.String(), "(13 older ones: -o json)") || strings.Count(b.String(), "\n") != 22 {
		t.Errorf("%v, said\n%s", err, b.String())
	}
}
