package lead

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
	hold  time.Duration
	lost  context.Context // ends when the gate has closed for good
	close context.CancelFunc

	mu    sync.Mutex
	sent  time.Time // the last renewal that was granted; zero before the first
	timer *time.Timer
}

// NewGate makes a gate that is closed until the first renewal is granted, and stays open for hold
// after each was sent.
func NewGate(hold time.Duration) *Gate {
	g := &Gate{hold: hold}
	g.lost, g.close = context.WithCancel(context.Background())
	return g
}

// granted says that a renewal, sent at a time, was granted.
func (g *Gate) granted(sent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost.Err() != nil || g.sent.After(sent) {
		return
	}
	g.sent = sent
	left := g.hold - since(sent)
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
	if left := g.hold - since(g.sent); left > 0 {
		g.timer.Reset(left)
		return
	}
	g.close()
}

// open says whether requests may be sent. It does not rely on the timer, which is late in a
// process that was stopped.
func (g *Gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent.IsZero() || g.lost.Err() != nil {
		return false
	}
	if since(g.sent) >= g.hold {
		g.close()
		return false
	}
	return true
}

// since is how long ago a time was: by the monotonic clock or by the calendar, whichever says
// longer, since the one stands still while a machine sleeps and the other is set by people.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Wrap puts the gate in the way of requests; for rest.Config.Wrap.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return &guarded{g, next} }

type guarded struct {
	gate *Gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.gate.open() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errNotHeld
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(t.gate.lost, func() { cancel(errNotHeld) })
	done := func() { stop(); cancel(nil) }
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		done()
		return nil, err
	}
	answer.Body = &body{answer.Body, done}
	return answer, nil
}

// WrappedRoundTripper lets client-go find what is below.
func (t *guarded) WrappedRoundTripper() http.RoundTripper { return t.next }

// body ends the watch over a request when its answer is read.
type body struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
