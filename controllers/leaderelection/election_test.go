package leaderelection

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

// recordingTransport is an API behind a gate that records requests.
type recordingTransport struct {
	gate *Gate
	mu   sync.Mutex
	// hanging makes requests block until they are canceled; canceledAt is when the last such request was canceled.
	hanging    bool
	canceledAt time.Time
	times      []time.Time
}

func (tr *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.mu.Lock()
	tr.times = append(tr.times, time.Now())
	hangs := tr.hanging
	tr.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		tr.mu.Lock()
		tr.canceledAt = time.Now()
		tr.mu.Unlock()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// send sends a request every 100 ms until ctx is done.
func (tr *recordingTransport) send(ctx context.Context) error {
	client := &http.Client{Transport: tr.gate.Wrap(tr)}
	for ctx.Err() == nil {
		r, _ := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, "http://api/", nil)
		if response, err := client.Do(r); err == nil {
			_ = response.Body.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (tr *recordingTransport) sent() []time.Time {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.times)
}

func (tr *recordingTransport) last() time.Time {
	sent := tr.sent()
	return sent[len(sent)-1]
}

func (tr *recordingTransport) hang(hangs bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.hanging = hangs
}

func (tr *recordingTransport) lastCanceled() time.Time {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.canceledAt
}

// partition makes Lease writes fail after a delay once active is set.
type partition struct {
	active  atomic.Bool
	delay   time.Duration
	granted atomic.Pointer[time.Time] // when the last successful write was sent
}

func (p *partition) install(api *fake.Clientset) {
	api.PrependReactor("*", "leases", func(a kubetesting.Action) (bool, runtime.Object, error) {
		sent := time.Now()
		time.Sleep(p.delay)
		if p.active.Load() {
			return true, nil, errors.New("no route to host")
		}
		if a.GetVerb() != "get" {
			p.granted.Store(&sent)
		}
		return false, nil, nil
	})
}

func TestPartitionedLeaderStopsBeforeLeaseExpires(t *testing.T) {
	for name, hangs := range map[string]bool{"between requests": false, "with a request in flight": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, p, e := fake.NewSimpleClientset(), &partition{delay: 300 * time.Millisecond}, Default("berth-controller")
				p.install(api)
				tr := &recordingTransport{gate: NewGate(e.RenewDeadline)}
				workDone := make(chan error)
				go func() { workDone <- e.Run(t.Context(), api, tr.gate, tr.send) }()
				time.Sleep(time.Minute)
				if elapsed(tr.last()) > time.Second {
					t.Fatal("the leader sends no requests, want at least one")
				}
				p.active.Store(true)
				tr.hang(hangs)
				if err := <-workDone; !errors.Is(err, ErrLost) {
					t.Fatalf("Run returned %v, want ErrLost", err)
				}
				granted := *p.granted.Load()
				if d := tr.last().Sub(granted); d >= e.RenewDeadline {
					t.Errorf("the last request was sent %v after the last renewal, want less than %v", d, e.RenewDeadline)
				}
				if d := tr.lastCanceled().Sub(granted); hangs && d > e.RenewDeadline {
					t.Errorf("a request was in flight %v after the last renewal, want at most %v", d, e.RenewDeadline)
				}
				if time.Since(granted) > e.LeaseDuration {
					t.Errorf("Run returned %v after the last renewal, want at most %v", time.Since(granted), e.LeaseDuration)
				}
			})
		})
	}
}

// TestGateDoesNotRelyOnTimer checks that the gate closes without its timer: a process that was suspended sends
// requests before its timers fire.
func TestGateDoesNotRelyOnTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(10 * time.Second)
		if g.isOpen() {
			t.Error("the gate is open before a renewal, want it closed")
		}
		g.recordRenewal(time.Now())
		if !g.isOpen() {
			t.Error("the gate is closed after a renewal, want it open")
		}
		g.timer.Stop()
		time.Sleep(10 * time.Second)
		if g.isOpen() {
			t.Error("the gate is open after the renew deadline, want it closed")
		}
		g.recordRenewal(time.Now())
		if g.isOpen() {
			t.Error("the gate is open after a renewal of a closed gate, want it closed")
		}
	})
}

// TestLateRenewalResponseDoesNotExtend checks that the gate is open for a time that starts when the renewal was
// sent, not when its response arrived.
func TestLateRenewalResponseDoesNotExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(10 * time.Second)
		sent := time.Now()
		time.Sleep(9 * time.Second)
		g.recordRenewal(sent)
		time.Sleep(time.Second)
		synctest.Wait()
		if g.lost.Err() == nil {
			t.Error("the gate is open 10 s after the renewal was sent, want it closed")
		}
		expired := NewGate(10 * time.Second)
		expired.recordRenewal(sent)
		if expired.isOpen() {
			t.Error("the gate is open after a renewal that was sent 10 s ago, want it closed")
		}
	})
}

func TestTwoInstancesNeverSendConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, p := fake.NewSimpleClientset(), &partition{}
		first, second := Default("berth-controller"), Default("berth-controller")
		first.Identity, second.Identity = "first", "second"
		firstTransport, secondTransport := &recordingTransport{gate: NewGate(first.RenewDeadline)}, &recordingTransport{gate: NewGate(second.RenewDeadline)}
		// The first instance uses a connection that can be partitioned. Both instances use the same Leases.
		partitionedAPI := fake.NewSimpleClientset()
		p.install(partitionedAPI)
		partitionedAPI.PrependReactor("*", "leases", func(a kubetesting.Action) (bool, runtime.Object, error) {
			if p.active.Load() {
				return true, nil, errors.New("no route to host")
			}
			obj, err := leases.Invokes(a, &coordinationv1.Lease{})
			return true, obj, err
		})
		firstDone := make(chan error)
		go func() { firstDone <- first.Run(t.Context(), partitionedAPI, firstTransport.gate, firstTransport.send) }()
		time.Sleep(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		secondDone := make(chan error)
		go func() { secondDone <- second.Run(ctx, leases, secondTransport.gate, secondTransport.send) }()
		time.Sleep(time.Minute)
		if len(secondTransport.sent()) > 0 {
			t.Fatal("both instances are leaders, want one")
		}
		p.active.Store(true)
		_ = <-firstDone
		time.Sleep(time.Minute)
		if len(secondTransport.sent()) == 0 || !secondTransport.sent()[0].After(firstTransport.last().Add(time.Second)) {
			t.Errorf("the first instance sent requests until %v, the second at %v, want the second to start a second later", firstTransport.last(), secondTransport.sent())
		}
		stop()
		if err := <-secondDone; err != nil {
			t.Error(err)
		}
		l, err := leases.CoordinationV1().Leases("kube-system").Get(t.Context(), "berth-controller", metav1.GetOptions{})
		if err != nil || l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
			t.Errorf("Lease %+v, error %v after an orderly stop, want no holder", l.Spec, err)
		}
	})
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(e *Election){
		"lease duration": func(e *Election) { e.LeaseDuration = e.RenewDeadline },
		"renew deadline": func(e *Election) { e.RenewDeadline = e.RetryPeriod },
		"retry period":   func(e *Election) { e.RetryPeriod = 0 },
		"name":           func(e *Election) { e.Name = "" },
	} {
		e := Default("berth-controller")
		change(&e)
		if e.Validate() == nil {
			t.Errorf("invalid %s: Validate accepts %+v, want an error", name, e)
		}
	}
}
