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

// A node that does not answer keeps nobody longer for there being others who ask for it.
func TestWaitingForOthersIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &summaryCache{entries: map[string]*cacheEntry{}}
		s.entry("n1").lock <- struct{}{} // somebody asks, and gets no answer
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		begun := time.Now()
		if _, err := s.get(t.Context(), node, time.Time{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != requestTimeout {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}
