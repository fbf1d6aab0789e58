package probe

import (
	"container/heap"
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// Target is a probe of a running container.
type Target struct {
	Pod       *corev1.Pod
	Container *corev1.Container   // contains the probe
	Probe     podlifecycle.Probes // exactly one, which the container has
	Attempt   int32               // attempt of the container, copied to results
	ID        string              // container ID in the runtime
	Address   string              // pod IP
	Started   time.Time           // start time of the container
}

// Result is a verdict about a container.
type Result struct {
	Pod       types.UID
	Container string
	Probe     podlifecycle.Probes
	Attempt   int32
	OK        bool
	Message   string // of the last probe
}

// Options configures a Prober.
type Options struct {
	// Exec runs a command in a container and returns exit code and output. After the timeout it
	// returns context.DeadlineExceeded or a DeadlineExceeded status.
	Exec func(ctx context.Context, id string, command []string, timeout time.Duration) (code int, output string, err error)
	// Report receives verdicts, one at a time.
	Report func(Result)
	// RecordEvent records the kubelet's event for a failed probe; optional.
	RecordEvent func(pod *corev1.Pod, container, eventType, reason, message string)
}

// Prober runs the probes of a node's containers. It is safe for concurrent use.
type Prober struct {
	opts      Options
	run       func(context.Context, *Target, *corev1.Probe) result
	startTime time.Time
	wake      chan struct{} // capacity 1: signals that a probe may be due earlier

	reportMu sync.Mutex // serializes reports; acquired without mu

	mu     sync.Mutex
	probes map[key]*worker
	queue  workerHeap
}

// key identifies a probe.
type key struct {
	pod       types.UID
	container string
	probe     podlifecycle.Probes
}

// New returns a Prober.
func New(opts Options) *Prober {
	p := &Prober{opts: opts, startTime: time.Now(), wake: make(chan struct{}, 1), probes: map[key]*worker{}}
	p.run = p.runProbe
	return p
}

// Start starts a probe, replacing that of a previous instance of the container. It does nothing
// if the container has no such probe.
func (p *Prober) Start(t Target) {
	spec := probeSpec(t.Container, t.Probe)
	if spec == nil {
		return
	}
	w := &worker{target: t, spec: spec, period: secondsOr(spec.PeriodSeconds, 10)}
	w.due = w.firstProbe(p.startTime, time.Now())
	k := key{t.Pod.UID, t.Container.Name, t.Probe}
	p.mu.Lock()
	p.remove(k)
	p.probes[k] = w
	heap.Push(&p.queue, w)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Stop ends a probe. A verdict that is being reported may still arrive.
func (p *Prober) Stop(pod types.UID, container string, probe podlifecycle.Probes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(key{pod, container, probe})
}

// remove removes a probe, if there is one. mu must be held.
func (p *Prober) remove(k key) {
	w := p.probes[k]
	if w == nil {
		return
	}
	w.stopped = true
	if w.queued {
		heap.Remove(&p.queue, w.index)
	}
	delete(p.probes, k)
}

// Run runs probes until ctx is done, then waits for those in progress.
func (p *Prober) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due, next := p.popDue(time.Now())
		for _, w := range due {
			wg.Go(func() { p.doProbe(ctx, w) })
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// popDue removes the due probes from the queue, and returns them and the time until the next one.
func (p *Prober) popDue(now time.Time) (due []*worker, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) > 0 {
		if remaining := p.queue[0].due.Sub(now); remaining > 0 {
			return due, remaining
		}
		due = append(due, heap.Pop(&p.queue).(*worker))
	}
	return due, time.Hour
}

// doProbe runs a probe and processes the result.
func (p *Prober) doProbe(ctx context.Context, w *worker) {
	probeCtx, cancel := context.WithTimeout(ctx, secondsOr(w.spec.TimeoutSeconds, 1))
	r := p.run(probeCtx, &w.target, w.spec)
	cancel()
	if ctx.Err() != nil {
		return // shutdown of the agent, not a failure
	}
	if v := p.record(w, r); v != nil {
		p.report(w, v)
	}
}

// record records a result and returns its consequence, or nil if the probe was stopped. The caller
// reports the verdict without holding mu, because Report may take locks that callers of Start and Stop
// hold.
func (p *Prober) record(w *worker, r result) *verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.stopped {
		return nil
	}
	v := &verdict{result: r}
	v.changed, v.ok = w.observe(r)
	if v.changed && w.isFinal(v.ok) {
		delete(p.probes, key{w.target.Pod.UID, w.target.Container.Name, w.target.Probe})
	} else {
		v.continues = true
	}
	return v
}

// verdict is the consequence of a result.
type verdict struct {
	result
	changed, ok bool // the verdict changed and must be reported
	continues   bool // the probe runs again
}

// report reports a verdict and then schedules the next probe, so that verdicts of a probe
// arrive in order.
func (p *Prober) report(w *worker, v *verdict) {
	p.reportMu.Lock()
	p.recordEvent(w, v.result)
	if v.changed {
		p.opts.Report(Result{Pod: w.target.Pod.UID, Container: w.target.Container.Name, Probe: w.target.Probe,
			Attempt: w.target.Attempt, OK: v.ok, Message: v.message})
	}
	p.reportMu.Unlock()
	if !v.continues {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.stopped {
		return
	}
	w.due = nextTick(w.due, w.period, time.Now())
	heap.Push(&p.queue, w)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// recordEvent records the event of a failed probe or a warning.
func (p *Prober) recordEvent(w *worker, r result) {
	if p.opts.RecordEvent == nil || r.outcome == success && r.message == "" {
		return
	}
	name, reason, message := w.target.Probe.String(), "Unhealthy", ""
	switch r.outcome {
	case success:
		reason, message = "ProbeWarning", name+" probe warning: "+r.message
	case failure:
		message = name + " probe failed: " + r.message
	default:
		message = name + " probe errored and resulted in unknown state: " + r.message
	}
	p.opts.RecordEvent(w.target.Pod, w.target.Container.Name, corev1.EventTypeWarning, reason, message)
}
