package metricsapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestGetTimesOutWaitingForOtherRequests checks that the timeout also bounds the wait for other requests to the same
// node.
func TestGetTimesOutWaitingForOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &summaryCache{entries: map[string]*cacheEntry{}}
		s.entry("n1").lock <- struct{}{} // another request that never returns
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		start := time.Now()
		if _, err := s.get(t.Context(), node, time.Time{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != requestTimeout {
			t.Errorf("got %v after %s, want %v after %s", err, time.Since(start), context.DeadlineExceeded, requestTimeout)
		}
	})
}
