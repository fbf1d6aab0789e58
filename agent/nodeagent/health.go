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

// ready returns an error if the container runtime cannot run pods.
func (h *runtimeHealth) ready(string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// watch polls the runtime's status until ctx ends and calls onChange after each change.
func (h *runtimeHealth) watch(ctx context.Context, readStatus func(context.Context) (*criapi.StatusResponse, error), onChange func()) {
	for tick := time.NewTicker(healthInterval); ; {
		if h.check(ctx, readStatus) {
			onChange()
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// check reads the status once and reports whether the health has changed.
func (h *runtimeHealth) check(ctx context.Context, readStatus func(context.Context) (*criapi.StatusResponse, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	s, err := readStatus(ctx)
	if err != nil {
		err = fmt.Errorf("container runtime is down: %w", err)
	} else {
		err = RuntimeNotReady(s.GetStatus())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := fmt.Sprint(h.err) != fmt.Sprint(err)
	h.err = err
	return changed
}
