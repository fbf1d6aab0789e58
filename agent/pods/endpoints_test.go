package pods

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A container gets SIGTERM after Services have stopped using its pod, or after the timeout.
func TestAwaitEndpoints(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"unrouted": time.Hour, "timeout": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			waiting, unrouted := make(chan []string, 1), make(chan struct{})
			g := newHarness(t, func(o *Options) {
				o.EndpointTimeout = timeout
				o.AwaitEndpoints = func(ctx context.Context, addresses []string) {
					waiting <- addresses
					select {
					case <-unrouted:
					case <-ctx.Done():
					}
				}
			})
			pod := testPod("web", "a")
			g.admit(pod)
			g.waitForStates(pod, "a=up")
			deleted := pod.DeepCopy()
			deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			g.runner.Update(deleted)
			g.delete(pod, time.Minute)
			if addresses := <-waiting; len(addresses) != 1 {
				t.Errorf("waits for addresses %v, want the pod's", addresses)
			}
			if name == "unrouted" {
				if calls := g.service.Calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "StopContainer") }) {
					t.Errorf("stopped while Services use the pod: %v", calls)
				}
				close(unrouted)
			}
			g.waitForStates(pod, "a=ended(143 )")
		})
	}
}
