package audit

import (
	"fmt"
	"sync"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

const (
	// maxDelay is how long a backend may delay a request.
	maxDelay = 2 * time.Second
	// maxPending is the number of requests whose events a blocked backend may hold.
	maxPending = 1000
)

// droppedEvents returns the counter of events that a blocked backend did not accept in time.
var droppedEvents = sync.OnceValue(func() *metrics.Counter {
	c := metrics.NewCounter(&metrics.CounterOpts{
		Name: "berth_audit_events_dropped_total", Help: "Audit events that were not written in time because a backend was blocked.", StabilityLevel: metrics.ALPHA,
	})
	legacyregistry.MustRegister(c)
	return c
})

// boundedBackend passes events to a backend and waits at most maxDelay for it. While a call is
// blocked, further requests do not wait at all.
type boundedBackend struct {
	audit.Backend
	strict  bool // a request fails if its event is not written
	pending chan struct{}

	mu      sync.Mutex
	blocked int // calls that did not return in time and have not ended
}

func newBoundedBackend(b audit.Backend, strict bool) *boundedBackend {
	return &boundedBackend{Backend: b, strict: strict, pending: make(chan struct{}, maxPending)}
}

// ProcessEvents implements audit.Sink. It reports false, which fails the request, only in strict
// mode.
func (b *boundedBackend) ProcessEvents(events ...*auditinternal.Event) bool {
	select {
	case b.pending <- struct{}{}:
	default:
		return b.drop(len(events), "too many requests wait for the backend")
	}
	copies := make([]*auditinternal.Event, len(events)) // the request changes its event later
	for i, e := range events {
		copies[i] = e.DeepCopy()
	}
	done := make(chan bool, 1)
	go func() {
		defer func() { <-b.pending }()
		done <- b.Backend.ProcessEvents(copies...)
	}()
	delay := maxDelay
	if b.isBlocked() {
		delay = 0
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case ok := <-done:
		return ok || !b.strict
	case <-timer.C:
	}
	b.addBlocked(1)
	go func() {
		<-done
		b.addBlocked(-1)
	}()
	return b.drop(len(events), fmt.Sprintf("the backend did not return within %v", delay))
}

func (b *boundedBackend) isBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blocked > 0
}

func (b *boundedBackend) addBlocked(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blocked += n
}

// drop counts n events that may be lost, and returns the result of ProcessEvents.
func (b *boundedBackend) drop(n int, reason string) bool {
	droppedEvents().Add(float64(n))
	klog.V(1).InfoS("Audit events may be lost", "backend", b.String(), "events", n, "reason", reason)
	return !b.strict
}
