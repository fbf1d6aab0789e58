package tainteviction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/metrics"
)

// TestDeletionsAreCountedOnce checks that each of two evicted pods is counted once, although the eviction of one of
// them succeeds only at the third attempt.
func TestDeletionsAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		first, second := newPod("immediate", 0), newPod("delayed", 30)
		first.UID, second.UID = "u1", "u2"
		api := fake.NewClientset(newNode(false), first, second)
		failures := 2
		api.PrependReactor("delete", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
			if d, ok := a.(ktesting.DeleteAction); !ok || d.GetName() != "delayed" || failures == 0 {
				return false, nil, nil
			}
			failures--
			return true, nil, errors.New("EOF")
		})
		registry, displaced := prometheus.NewRegistry(), metrics.NewDisplacements()
		registry.MustRegister(displaced)
		recording := &displacer.Displacer{Client: api, Now: time.Now, Component: Component, OnDisplaced: displaced.Count}
		factory := informers.NewSharedInformerFactory(api, 0)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, recording, tainteviction.Options{}, registry); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		must[*corev1.Node](t)(api.CoreV1().Nodes().Update(ctx, newNode(true), metav1.UpdateOptions{}))
		time.Sleep(time.Hour)
		cancel()
		wg.Wait()
		factory.Shutdown()
		if failures != 0 {
			t.Errorf("%d of 2 injected failures remain, want 0", failures)
		}
		const want = `# HELP taint_eviction_controller_pod_deletions_total Number of pods that were deleted because of NoExecute taints.
# TYPE taint_eviction_controller_pod_deletions_total counter
taint_eviction_controller_pod_deletions_total 2
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "taint_eviction_controller_pod_deletions_total"); err != nil {
			t.Error(err)
		}
		if n := testutil.ToFloat64(displaced.WithLabelValues("Taint", "notConsulted")); n != 2 {
			t.Errorf("%v displacements, want 2", n)
		}
		if families, err := registry.Gather(); err != nil || !strings.Contains(fmt.Sprint(families), "sample_count:2") {
			t.Errorf("metrics %v, error %v, want a histogram with 2 deletions", families, err)
		}
	})
}
