package leaderelection

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// ErrLost says that another copy may lead now; this one has stopped sending.
var ErrLost = errors.New("the Lease was lost: no renewal was granted in time; another copy may lead now, and this one has stopped sending")

// errNotHeld is what requests get that are not sent.
var errNotHeld = errors.New("not sent: the Lease is not held")

// Gate lets requests through while a Lease is held. Make it with NewGate.
type Gate struct {
	validity time.Duration
	lost     context.Context // ends when the gate has closed for good
	shut     context.CancelFunc

	mu          sync.Mutex
	lastRenewal time.Time // the last renewal that was granted; zero before the first
	timer       *time.Timer
}

// NewGate makes a gate that is closed until the first renewal is granted, and stays open for hold
// after each was sent.
func NewGate(hold time.Duration) *Gate {
	g := &Gate{validity: hold}
	g.lost, g.shut = context.WithCancel(context.Background())
	return g
}

// renewed says that a renewal, sent at a time, was granted.
func (g *Gate) renewed(sent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.Err() != nil || g.lastRenewal.After(sent) {
		return
	}
	g.lastRenewal = sent
	left := g.validity - elapsed(sent)
	if g.timer == nil {
		g.timer = time.AfterFunc(left, g.expire)
		return
	}
	g.timer.Reset(left)
}

// expire closes the gate, unless a renewal was granted meanwhile.
func (g *Gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left := g.validity - elapsed(g.lastRenewal); left > 0 {
		g.timer.Reset(left)
		return
	}
	g.shut()
}

// isOpen says whether requests may be sent. It does not rely on the timer, which is late in a
// process that was stopped.
func (g *Gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lastRenewal.IsZero() || g.lost.Err() != nil {
		return false
	}
	if elapsed(g.lastRenewal) >= g.validity {
		g.shut()
		return false
	}
	return true
}

// elapsed is how long ago a time was: by the monotonic clock or by the calendar, whichever says
// longer, since the one stands still while a machine sleeps and the other is set by people.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Wrap puts the gate in the way of requests; for rest.Config.Wrap.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return &gatedTransport{g, next} }

type gatedTransport struct {
	gate *Gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *gatedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.gate.isOpen() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errNotHeld
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(t.gate.lost, func() { cancel(errNotHeld) })
	done := func() { stop(); cancel(nil) }
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		done()
		return nil, err
	}
	response.Body = &trackedBody{response.Body, done}
	return response, nil
}

// WrappedRoundTripper lets client-go find what is below.
func (t *gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// trackedBody ends the watch over a request when its answer is read.
type trackedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *trackedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
