package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2/textlogger"
)

// logText stores log output.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count returns how often s was logged.
func (l *logText) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// TestAllocationsOnFullDisk checks that a failure to store the allocations is logged once, and that the
// agent retries every 10 s, even without other events.
func TestAllocationsOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newResizeCluster(t)
		c.stop()
		log := &logText{}
		c.log = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
		c.start()
		defer func() { c.stop() }()
		const message = "Failed to save allocated resources"
		before := c.store.setError(errors.New("no space left on device"))
		for n := range 20 {
			create(t, c.api, pod(fmt.Sprintf("p%d", n), withRequests("100m", "1Mi")))
		}
		waitBriefly()
		if n := c.store.setError(errors.New("no space left on device")) - before; n != 1 || log.count(message) != 1 {
			t.Errorf("20 pods: %d calls of Save with %d messages, want one of each", n, log.count(message))
		}
		time.Sleep(time.Minute)
		if n := c.store.setError(nil) - before; n < 5 || n > 8 || log.count(message) != 1 {
			t.Errorf("after a minute: %d calls of Save with %d messages, want 5 to 8 calls and one message", n, log.count(message))
		}
		time.Sleep(11 * time.Second)
		if stored, err := c.store.Load(); len(stored) != 20 {
			t.Errorf("stored allocations of %d pods, %v, want 20", len(stored), err)
		}
	})
}

// setError sets the error of Save, and returns the number of calls so far.
func (s *memoryStore) setError(err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saveErr = err
	return s.saves
}
