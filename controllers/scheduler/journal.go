package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

const (
	// flushInterval is how long decisions are gathered before they go to the disk together.
	flushInterval = time.Second
	// maxBatch is how many go to the disk at once at most.
	maxBatch = 4096
	// maxUnwritten is how many may wait while the disk is written; what comes then is not kept.
	maxUnwritten = 16384
)

// journalWriter brings what was carried out to a journal, beside the loop: nobody waits for the disk.
type journalWriter struct {
	to      *journal.Decisions
	log     *slog.Logger
	pending chan trace
	dropped atomic.Int64
}

// newJournalWriter is nil where nothing is kept.
func newJournalWriter(to *journal.Decisions, log *slog.Logger) *journalWriter {
	if to == nil {
		return nil
	}
	return &journalWriter{to: to, log: log, pending: make(chan trace, maxUnwritten)}
}

// add takes in what became of an effect. It never waits.
func (h *journalWriter) add(t trace) {
	if h == nil {
		return
	}
	select {
	case h.pending <- t:
	default:
		h.dropped.Add(1)
	}
}

// run writes until ctx ends, and then what is left.
func (h *journalWriter) run(ctx context.Context) {
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	var list []journal.Decision
	for ctx.Err() == nil {
		select {
		case t := <-h.pending:
			if list = append(list, journalEntry(t)); len(list) < maxBatch {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
		}
		h.write(list)
		list = list[:0]
	}
	for range len(h.pending) {
		list = append(list, journalEntry(<-h.pending))
	}
	h.write(list)
}

// journalEntry is a trace as a journal keeps it.
func journalEntry(t trace) journal.Decision {
	s := t.view()
	return journal.Decision{Time: s.Time, Namespace: t.pod.Namespace, Name: t.pod.Name, UID: s.UID, Action: s.What, Attempt: s.Attempt,
		Node: s.Node, Message: s.Message, Rules: s.Rules, Victims: s.Victims, Outcome: s.Outcome, Reason: s.Why}
}

// write brings to the disk what has come.
func (h *journalWriter) write(list []journal.Decision) {
	if err := h.to.Append(list...); err != nil {
		h.log.Error("decisions are not in the journal", "count", len(list), "error", err)
	}
	if n := h.dropped.Swap(0); n > 0 {
		h.log.Warn("decisions are not in the journal: more came than could be written", "count", n)
	}
}
