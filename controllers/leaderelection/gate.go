package leaderelection

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// ErrLost reports that the Lease was lost. Another instance may lead now, so this one stops sending requests.
var ErrLost = errors.New("leader election lost: the Lease was not renewed in time")

var errNotHeld = errors.New("request not sent: the Lease is not held")

// Gate lets requests pass while a Lease is held. Create it with NewGate.
type Gate struct {
	validity         time.Duration
	lost             context.Context // done when the gate has closed permanently
	closePermanently context.CancelFunc

	mu          sync.Mutex
	lastRenewal time.Time // when the last successful renewal was sent; zero before the first
	timer       *time.Timer
}

// NewGate returns a gate that is closed until the first successful renewal. Each successful renewal opens it until
// validity has passed since the renewal was sent.
func NewGate(validity time.Duration) *Gate {
	g := &Gate{validity: validity}
	g.lost, g.closePermanently = context.WithCancel(context.Background())
	return g
}

// recordRenewal records that a renewal, sent at the given time, succeeded.
func (g *Gate) recordRenewal(sent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.Err() != nil || g.lastRenewal.After(sent) {
		return
	}
	g.lastRenewal = sent
	remaining := g.validity - elapsed(sent)
	if g.timer == nil {
		g.timer = time.AfterFunc(remaining, g.expire)
		return
	}
	g.timer.Reset(remaining)
}

// expire closes the gate permanently, unless a renewal has succeeded in the meantime.
func (g *Gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if remaining := g.validity - elapsed(g.lastRenewal); remaining > 0 {
		g.timer.Reset(remaining)
		return
	}
	g.closePermanently()
}

// isOpen reports whether requests may be sent. It does not rely on the timer, which fires late in a
// process that was stopped.
func (g *Gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lastRenewal.IsZero() || g.lost.Err() != nil {
		return false
	}
	if elapsed(g.lastRenewal) >= g.validity {
		g.closePermanently()
		return false
	}
	return true
}

// elapsed returns the time since t, by the monotonic or by the wall clock, whichever is longer. The monotonic clock
// stops while the machine sleeps; the wall clock can be set.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Wrap returns a transport that sends requests through next while the gate is open. When the gate closes permanently,
// the transport cancels the requests in flight. Use it with rest.Config.Wrap.
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

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t *gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// trackedBody calls done when the caller closes the response body.
type trackedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *trackedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
