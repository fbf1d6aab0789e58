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

// Target is a probe of a container that has started.
type Target struct {
	Pod       *corev1.Pod
	Container *corev1.Container   // with the probe, whose command is run as it stands there
	Probe     podlifecycle.Probes // one, which the container has
	Attempt   int32               // of the container; comes back with results
	ID        string              // the runtime's
	Address   string              // the pod's IP
	Started   time.Time           // the container
}

// Result is a verdict on a container.
type Result struct {
	Pod       types.UID
	Container string
	Probe     podlifecycle.Probes
	Attempt   int32
	OK        bool
	Message   string // the last answer
}

// Options of a Prober.
type Options struct {
	// Exec runs a command in a container: its exit code and output. When timeout is over it
	// ends with context.DeadlineExceeded or a DeadlineExceeded status.
	Exec func(ctx context.Context, id string, command []string, timeout time.Duration) (code int, output string, err error)
	// Report takes verdicts, one at a time.
	Report func(Result)
	// RecordEvent tells of each failed answer, with the reasons and messages of the kubelet; may be nil.
	RecordEvent func(pod *corev1.Pod, container, eventType, reason, message string)
}

// Prober runs the probes of a node's containers. Its methods may be called from many goroutines.
type Prober struct {
	opts      Options
	run       func(context.Context, *Target, *corev1.Probe) result
	startTime time.Time
	wake      chan struct{} // holds one when a probe may be due sooner than was known

	reportMu sync.Mutex // one report at a time; taken without mu

	mu     sync.Mutex
	probes map[key]*worker
	queue  workerHeap
}

// key names a probe.
type key struct {
	pod       types.UID
	container string
	probe     podlifecycle.Probes
}

// New makes a Prober.
func New(opts Options) *Prober {
	p := &Prober{opts: opts, startTime: time.Now(), wake: make(chan struct{}, 1), probes: map[key]*worker{}}
	p.run = p.runProbe
	return p
}

// Start begins with a probe of a container, in place of the same one of a former run of
// it. A container that has no such probe is not asked.
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

// Stop ends a probe of a container. A verdict that is on its way may still come.
func (p *Prober) Stop(pod types.UID, container string, probe podlifecycle.Probes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(key{pod, container, probe})
}

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

// Run asks until ctx ends, and then for the last answers.
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

// popDue takes the probes that are due, and says how long it is to the next.
func (p *Prober) popDue(now time.Time) (due []*worker, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) > 0 {
		if left := p.queue[0].due.Sub(now); left > 0 {
			return due, left
		}
		due = append(due, heap.Pop(&p.queue).(*worker))
	}
	return due, time.Hour
}

// doProbe asks once and draws the conclusion.
func (p *Prober) doProbe(ctx context.Context, w *worker) {
	limited, cancel := context.WithTimeout(ctx, secondsOr(w.spec.TimeoutSeconds, 1))
	a := p.run(limited, &w.target, w.spec)
	cancel()
	if ctx.Err() != nil {
		return // the agent ends; the container did not fail
	}
	if said := p.record(w, a); said != nil {
		p.report(w, said)
	}
}

// record takes in an answer; what it comes to is said after, without the lock that
// Start and Stop take: those who hear of it may hold what callers of these hold.
func (p *Prober) record(w *worker, a result) *verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.stopped {
		return nil
	}
	s := &verdict{result: a}
	s.changed, s.ok = w.observe(a)
	if s.changed && w.isFinal(s.ok) {
		delete(p.probes, key{w.target.Pod.UID, w.target.Container.Name, w.target.Probe})
	} else {
		s.continues = true
	}
	return s
}

// verdict is what an answer came to.
type verdict struct {
	result
	changed, ok bool // a verdict, to be reported
	continues   bool // the probe asks again
}

// report reports a verdict, and has the probe wait for its next turn: not before, so that
// verdicts of one probe come in order.
func (p *Prober) report(w *worker, s *verdict) {
	p.reportMu.Lock()
	p.recordEvent(w, s.result)
	if s.changed {
		p.opts.Report(Result{Pod: w.target.Pod.UID, Container: w.target.Container.Name, Probe: w.target.Probe,
			Attempt: w.target.Attempt, OK: s.ok, Message: s.message})
	}
	p.reportMu.Unlock()
	if !s.continues {
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

// recordEvent makes the event of an answer that was not good.
func (p *Prober) recordEvent(w *worker, a result) {
	if p.opts.RecordEvent == nil || a.outcome == success && a.message == "" {
		return
	}
	name, reason, message := w.target.Probe.String(), "Unhealthy", ""
	switch a.outcome {
	case success:
		reason, message = "ProbeWarning", name+" probe warning: "+a.message
	case failure:
		message = name + " probe failed: " + a.message
	default:
		message = name + " probe errored and resulted in unknown state: " + a.message
	}
	p.opts.RecordEvent(w.target.Pod, w.target.Container.Name, corev1.EventTypeWarning, reason, message)
}
