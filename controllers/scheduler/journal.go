package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/internal/journal"
)

const (
	// flushInterval is how long decisions are collected before they are written.
	flushInterval = time.Second
	// maxBatch is the maximum number of decisions per write.
	maxBatch = 4096
	// maxUnwritten is the maximum number of decisions in the queue. Further decisions are dropped.
	maxUnwritten = 16384
)

// journalWriter writes executed decisions to a journal in the background.
type journalWriter struct {
	clock     clock.WithTicker
	decisions *journal.Decisions
	log       *slog.Logger
	pending   chan trace
	dropped   atomic.Int64
}

// newJournalWriter returns nil if there is no journal.
func newJournalWriter(decisions *journal.Decisions, c clock.WithTicker, log *slog.Logger) *journalWriter {
	if decisions == nil {
		return nil
	}
	return &journalWriter{clock: c, decisions: decisions, log: log, pending: make(chan trace, maxUnwritten)}
}

// add enqueues an executed effect. It never blocks.
func (w *journalWriter) add(t trace) {
	if w == nil {
		return
	}
	select {
	case w.pending <- t:
	default:
		w.dropped.Add(1)
	}
}

// run writes until ctx is done, and then writes the remaining decisions.
func (w *journalWriter) run(ctx context.Context) {
	tick := w.clock.NewTicker(flushInterval)
	defer tick.Stop()
	var list []journal.Decision
	for ctx.Err() == nil {
		select {
		case t := <-w.pending:
			if list = append(list, journalEntry(t)); len(list) < maxBatch {
				continue
			}
		case <-tick.C():
		case <-ctx.Done():
		}
		w.write(list)
		list = list[:0]
	}
	for range len(w.pending) {
		list = append(list, journalEntry(<-w.pending))
	}
	w.write(list)
}

// journalEntry converts a trace to its journal form.
func journalEntry(t trace) journal.Decision {
	s := t.view()
	return journal.Decision{Time: s.Time, Namespace: t.pod.Namespace, Name: t.pod.Name, UID: s.UID, Action: s.Action, Attempt: s.Attempt,
		Node: s.Node, Message: s.Message, Plugins: s.Plugins, Victims: s.Victims, Outcome: s.Outcome, Reason: s.Reason}
}

func (w *journalWriter) write(list []journal.Decision) {
	if err := w.decisions.Append(list...); err != nil {
		w.log.Error("Failed to write decisions to the journal", "count", len(list), "err", err)
	}
	if n := w.dropped.Swap(0); n > 0 {
		w.log.Warn("Decisions were dropped: the journal is too slow", "count", n)
	}
}
