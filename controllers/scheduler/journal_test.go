package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/journal"
)

func boundTrace(i int) trace {
	p := &model.Pod{Namespace: "ns", Name: fmt.Sprint("p", i), UID: fmt.Sprint("u", i)}
	return trace{decided: time.Unix(int64(i), 0), pod: p, effect: scheduling.Bind{Pod: p, Node: "n1", Attempt: 3}, executed: time.Unix(int64(i), 0), result: scheduling.Conflict, reason: "it is another node"}
}

func TestJournalIsFlushedOnShutdown(t *testing.T) {
	dir := t.TempDir()
	decisions, err := journal.OpenDecisions(dir, journal.Options{Writer: "scheduler"})
	if err != nil {
		t.Fatal(err)
	}
	w := newJournalWriter(decisions, clock.RealClock{}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	for i := range 100 {
		w.add(boundTrace(i))
	}
	stop()
	<-done
	if err := decisions.Close(); err != nil {
		t.Fatal(err)
	}
	list, malformed, err := journal.ReadDecisions(dir, "ns", "p42")
	if err != nil || len(malformed) != 0 || len(list) != 1 {
		t.Fatalf("decisions %+v, malformed lines %v, error %v, want one decision", list, malformed, err)
	}
	if d := list[0]; d.Action != "bind" || d.Node != "n1" || d.Attempt != 3 || d.UID != "u42" || d.Outcome != scheduling.Conflict.String() || d.Reason != "it is another node" || d.Time.Unix() != 42 {
		t.Errorf("decision %+v, want the conflict of p42", d)
	}
}

func TestJournalDoesNotBlock(t *testing.T) {
	w := &journalWriter{pending: make(chan trace, 2)}
	for i := range 5 {
		w.add(boundTrace(i))
	}
	if got := w.dropped.Load(); got != 3 {
		t.Errorf("%d dropped, want 3", got)
	}
	(*journalWriter)(nil).add(boundTrace(0)) // without a journal
}
