package scheduler

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/table"
)

// queueView is the printable form of the queue.
type queueView struct {
	Time   time.Time      `json:"time"`
	Counts map[string]int `json:"counts"` // by queue
	// Pods has at most maxListedPerPool pods of each queue, in queue order.
	Pods []queuedPodView `json:"pods"`
}

// queuedPodView is a pending pod.
type queuedPodView struct {
	Pod           string     `json:"pod"` // namespace/name
	UID           string     `json:"uid"`
	Priority      int32      `json:"priority"`
	Pool          string     `json:"pool"`
	Attempts      int        `json:"attempts"`
	FirstEnqueued time.Time  `json:"firstEnqueued"`        // first time in the queue
	Since         time.Time  `json:"since"`                // last attempt, or entry into the queue
	Backoff       *time.Time `json:"backoffEnd,omitempty"` // no attempt before this time
	// Plugins are those that rejected or gate the pod. RequeueTriggers are the events that could make it schedulable.
	Plugins         []string `json:"plugins,omitempty"`
	RequeueTriggers []string `json:"requeueTriggers,omitempty"`
	EquivalentPods  int      `json:"equivalentPods"` // number of pods, including this one, in the same equivalence class
}

// debugQueue serves the pending pods and the events that they wait for. ?pool= selects one queue.
func (s *scheduler) debugQueue(w http.ResponseWriter, r *http.Request) {
	pool := r.URL.Query().Get("pool")
	accepted := []string{"active", "backoff", "unschedulable", "gated", "inflight"}
	if pool != "" && !slices.Contains(accepted, pool) {
		http.Error(w, fmt.Sprintf("pool: %q: must be one of %s", pool, strings.Join(accepted, ", ")), http.StatusBadRequest)
		return
	}
	q, at, err := s.queueSnapshot.get(r.Context(), s.copyQueue)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	d := q.depths
	view := queueView{Time: at, Pods: []queuedPodView{}, Counts: map[string]int{"active": d.Active, "backoff": d.Backoff,
		"unschedulable": d.Unschedulable, "gated": d.Gated, "inflight": d.InFlight}}
	for _, p := range q.pods {
		if pool == "" || p.Pool.String() == pool {
			view.Pods = append(view.Pods, newQueuedPodView(p))
		}
	}
	reply(w, r, view, func(w io.Writer) { printQueue(w, &view) })
}

func newQueuedPodView(p queue.PendingPod) queuedPodView {
	out := queuedPodView{Pod: p.Key(), UID: p.UID, Priority: p.Priority, Pool: p.Pool.String(), Attempts: p.Attempts,
		FirstEnqueued: p.FirstEnqueued, Since: p.Since, Plugins: pluginNames(p.UnschedulablePlugins), EquivalentPods: p.GroupSize}
	if !p.BackoffEnd.IsZero() {
		out.Backoff = &p.BackoffEnd
	}
	seen := map[string]bool{}
	for _, trigger := range explain.RequeueTriggers(p.UnschedulablePlugins) {
		for _, event := range trigger.Events {
			if !seen[event] {
				out.RequeueTriggers = append(out.RequeueTriggers, event)
			}
			seen[event] = true
		}
	}
	return out
}

func printQueue(w io.Writer, p *queueView) {
	c := p.Counts
	fmt.Fprintf(w, "%s: %d active, %d in backoff, %d unschedulable, %d gated, %d in flight\n", p.Time.UTC().Format(time.RFC3339),
		c["active"], c["backoff"], c["unschedulable"], c["gated"], c["inflight"])
	if len(p.Pods) == 0 {
		return
	}
	t := table.New(table.Columns("POD", "POOL", "PRIORITY", "ATTEMPTS", "WAITS", "TRIED", "NOT BEFORE", "PLUGINS"), nil)
	for _, q := range p.Pods {
		before := ""
		if q.Backoff != nil {
			before = q.Backoff.Sub(p.Time).Round(time.Second).String()
		}
		t.AddRow(q.Pod, q.Pool, fmt.Sprint(q.Priority), fmt.Sprint(q.Attempts), p.Time.Sub(q.FirstEnqueued).Round(time.Second).String(),
			p.Time.Sub(q.Since).Round(time.Second).String()+" ago", orDash(before), orDash(strings.Join(q.Plugins, ", ")))
	}
	_ = t.Write(w, false)
}
