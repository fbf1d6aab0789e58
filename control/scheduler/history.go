package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthproject/berth/internal/journal"
)

const (
	// gathered is how long decisions are gathered before they go to the disk together.
	gathered = time.Second
	// together is how many go to the disk at once at most.
	together = 4096
	// unwritten is how many may wait while the disk is written; what comes then is not kept.
	unwritten = 16384
)

// history brings what was carried out to a journal, beside the loop: nobody waits for the disk.
type history struct {
	to      *journal.Decisions
	log     *slog.Logger
	news    chan trace
	dropped atomic.Int64
}

// newHistory is nil where nothing is kept.
func newHistory(to *journal.Decisions, log *slog.Logger) *history {
	if to == nil {
		return nil
	}
	return &history{to: to, log: log, news: make(chan trace, unwritten)}
}

// carriedOut takes in what became of an effect. It never waits.
func (h *history) carriedOut(t trace) {
	if h == nil {
		return
	}
	select {
	case h.news <- t:
	default:
		h.dropped.Add(1)
	}
}

// run writes until ctx ends, and then what is left.
func (h *history) run(ctx context.Context) {
	tick := time.NewTicker(gathered)
	defer tick.Stop()
	var list []journal.Decision
	for ctx.Err() == nil {
		select {
		case t := <-h.news:
			if list = append(list, kept(t)); len(list) < together {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
		}
		h.write(list)
		list = list[:0]
	}
	for range len(h.news) {
		list = append(list, kept(<-h.news))
	}
	h.write(list)
}

// kept is a trace as a journal keeps it.
func kept(t trace) journal.Decision {
	s := t.words()
	return journal.Decision{Time: s.Time, Namespace: t.pod.Namespace, Name: t.pod.Name, UID: s.UID, What: s.What, Attempt: s.Attempt,
		Node: s.Node, Message: s.Message, Rules: s.Rules, Victims: s.Victims, Outcome: s.Outcome, Why: s.Why}
}

// write brings to the disk what has come.
func (h *history) write(list []journal.Decision) {
	if err := h.to.Append(list...); err != nil {
		h.log.Error("decisions are not in the journal", "count", len(list), "error", err)
	}
	if n := h.dropped.Swap(0); n > 0 {
		h.log.Warn("decisions are not in the journal: more came than could be written", "count", n)
	}
}
