package scheduler

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/explain"
)

// queueView is the queue in words.
type queueView struct {
	Time   time.Time      `json:"time"`
	Counts map[string]int `json:"counts"` // by pool
	// Pods are at most some thousands of each pool, in the order in which they
	// come next.
	Pods []queuedPodView `json:"pods"`
}

// queuedPodView is a pod that waits.
type queuedPodView struct {
	Pod      string     `json:"pod"` // namespace/name
	UID      string     `json:"uid"`
	Priority int32      `json:"priority"`
	Pool     string     `json:"pool"`
	Attempts int        `json:"attempts"`
	First    time.Time  `json:"first"`                // in the queue
	Since    time.Time  `json:"since"`                // last tried, or entered
	Backoff  *time.Time `json:"backoffEnd,omitempty"` // not tried before
	// Rules rejected it last, or gate it; Wakes are what could undo that.
	Rules  []string `json:"rules,omitempty"`
	Wakes  []string `json:"wakes,omitempty"`
	Equals int      `json:"equals"` // how many pods, with it, wait for the same
}

// debugQueue shows who waits, for what, since when; ?pool= shows one pool.
func (s *scheduler) debugQueue(w http.ResponseWriter, r *http.Request) {
	pool := r.URL.Query().Get("pool")
	if known := "active, backoff, unschedulable, gated, inflight"; pool != "" && !strings.Contains(", "+known+",", ", "+pool+",") {
		http.Error(w, fmt.Sprintf("pool: %q: must be one of %s", pool, known), http.StatusBadRequest)
		return
	}
	q, at, err := s.queueSnapshot.get(r.Context(), s.copyQueue)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	d := q.depths
	page := queueView{Time: at, Pods: []queuedPodView{}, Counts: map[string]int{"active": d.Active, "backoff": d.Backoff,
		"unschedulable": d.Unschedulable, "gated": d.Gated, "inflight": d.InFlight}}
	for _, p := range q.pods {
		if pool == "" || p.Pool.String() == pool {
			page.Pods = append(page.Pods, newQueuedPodView(p))
		}
	}
	reply(w, r, page, func(w io.Writer) { printQueue(w, &page) })
}

func newQueuedPodView(p queue.PendingPod) queuedPodView {
	out := queuedPodView{Pod: p.Key(), UID: p.UID, Priority: p.Priority, Pool: p.Pool.String(), Attempts: p.Attempts,
		First: p.FirstEnqueued, Since: p.Since, Rules: ruleNames(p.UnschedulablePlugins), Equals: p.GroupSize}
	if !p.BackoffEnd.IsZero() {
		out.Backoff = &p.BackoffEnd
	}
	seen := map[string]bool{}
	for _, wake := range explain.RequeueTriggers(p.UnschedulablePlugins) {
		for _, when := range wake.Events {
			if !seen[when] {
				out.Wakes = append(out.Wakes, when)
			}
			seen[when] = true
		}
	}
	return out
}

func printQueue(w io.Writer, p *queueView) {
	c := p.Counts
	fmt.Fprintf(w, "%s: %d active, %d in back-off, %d unschedulable, %d gated, %d in flight\n", p.Time.UTC().Format(time.RFC3339),
		c["active"], c["backoff"], c["unschedulable"], c["gated"], c["inflight"])
	if len(p.Pods) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "POD\tPOOL\tPRIORITY\tATTEMPTS\tWAITS\tTRIED\tNOT BEFORE\tRULES")
	for _, q := range p.Pods {
		before := ""
		if q.Backoff != nil {
			before = q.Backoff.Sub(p.Time).Round(time.Second).String()
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s ago\t%s\t%s\n", q.Pod, q.Pool, q.Priority, q.Attempts, p.Time.Sub(q.First).Round(time.Second),
			p.Time.Sub(q.Since).Round(time.Second), orDash(before), orDash(strings.Join(q.Rules, ",")))
	}
	_ = t.Flush()
}
