//go:build linux

package nodeagent

import (
	"context"
	"fmt"
	"sync"
	"time"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// healthInterval is how often the runtime's status is read; healthTimeout bounds one read.
	healthInterval = 5 * time.Second
	healthTimeout  = 10 * time.Second
)

// runtimeHealth is the last known health of the container runtime.
type runtimeHealth struct {
	mu  sync.Mutex
	err error
}

// ready returns why the node cannot run pods, or nil.
func (h *runtimeHealth) ready(string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// watch polls the runtime's status until ctx ends and calls changed after each change.
func (h *runtimeHealth) watch(ctx context.Context, check func(context.Context) (*criapi.RuntimeStatus, error), changed func()) {
	for tick := time.NewTicker(healthInterval); ; {
		if h.check(ctx, check) {
			changed()
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// check reads the status once and reports whether it has changed.
func (h *runtimeHealth) check(ctx context.Context, call func(context.Context) (*criapi.RuntimeStatus, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	s, err := call(ctx)
	if err != nil {
		err = fmt.Errorf("container runtime is down: %w", err)
	} else {
		err = RuntimeNotReady(s)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	same := fmt.Sprint(h.err) == fmt.Sprint(err)
	h.err = err
	return !same
}
