package nodeagent

import (
	"context"
	"errors"
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

// RuntimeNotReady returns an error that lists the runtime conditions that are not met, or nil.
func RuntimeNotReady(s *criapi.RuntimeStatus) error {
	var errs []error
	for _, c := range s.GetConditions() {
		if (c.Type == criapi.RuntimeReady || c.Type == criapi.NetworkReady) && !c.Status {
			errs = append(errs, fmt.Errorf("container runtime %s=false: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	return errors.Join(errs...)
}
