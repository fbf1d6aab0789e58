package agent

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/conversion"
)

// TestVeryLongGracePeriod checks a grace period that overflows 64 bits in nanoseconds.
func TestVeryLongGracePeriod(t *testing.T) {
	seconds := int64(math.MaxInt64)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}, DeletionGracePeriodSeconds: &seconds}}
	if got := remainingGrace(p, true, time.Now()); got < 50*365*24*time.Hour {
		t.Errorf("grace period after deletion: %v, want at least 50 years", got)
	}
	if got := conversion.PodLifecycleSpec(&corev1.PodSpec{TerminationGracePeriodSeconds: &seconds}).Grace; got < 50*365*24*time.Hour {
		t.Errorf("grace period of the spec: %v, want at least 50 years", got)
	}
}
