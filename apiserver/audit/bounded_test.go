package audit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/server/options"
)

// gate is a backend that blocks while it is closed.
type gate struct {
	audit.Backend
	open   chan struct{}
	events chan *auditinternal.Event
}

func (g gate) ProcessEvents(events ...*auditinternal.Event) bool {
	<-g.open
	for _, e := range events {
		g.events <- e
	}
	return true
}

func (gate) String() string { return "gate" }

// TestBlockedBackendDelaysOneRequest checks that a blocked backend delays the first request by maxDelay, and later
// requests not at all. Once it continues, it gets all events.
func TestBlockedBackendDelaysOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{open: make(chan struct{}), events: make(chan *auditinternal.Event, 10)}
		b := newBoundedBackend(g, false)
		start := time.Now()
		for i := range 3 {
			if !b.ProcessEvents(&auditinternal.Event{}) {
				t.Errorf("request %d outside of strict mode: got a failure, want none", i)
			}
			if got := time.Since(start); got != maxDelay {
				t.Errorf("duration of request %d: got %v, want %v", i, got, maxDelay)
			}
		}
		if newBoundedBackend(g, true).ProcessEvents(&auditinternal.Event{}) {
			t.Error("request in strict mode: got no failure although its event is not written, want one")
		}
		close(g.open)
		synctest.Wait()
		if len(g.events) != 4 || b.isBlocked() {
			t.Errorf("after the backend continued: got %d events, blocked %t, want 4 and false", len(g.events), b.isBlocked())
		}
		start = time.Now()
		if b.ProcessEvents(&auditinternal.Event{}); time.Since(start) != 0 {
			t.Errorf("duration of a request after the backend continued: got %v, want 0 s", time.Since(start))
		}
	})
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*options.AuditOptions){
		"":                    func(*options.AuditOptions) {},
		"--audit-policy-file": func(o *options.AuditOptions) { o.LogOptions.Path = "log" },
		"invalid audit log mode soon": func(o *options.AuditOptions) {
			o.PolicyFile, o.LogOptions.Path, o.LogOptions.BatchOptions.Mode = "p", "log", "soon"
		},
	} {
		o := options.NewAuditOptions()
		change(o)
		if err := Validate(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want an error with %q", err, want)
		}
	}
}
