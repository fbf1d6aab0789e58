package nodelifecycle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/tainteviction"
	"github.com/berthproject/berth/engine/nodelifecycle"
	enginetaints "github.com/berthproject/berth/engine/tainteviction"
	"github.com/berthproject/berth/internal/displacer"
)

// recordingDisplacer records the pods to displace and deletes none.
type recordingDisplacer struct {
	mu   sync.Mutex
	pods []string
}

func (d *recordingDisplacer) Displace(_ context.Context, x displacer.Displacement) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pods = append(d.pods, x.Pod.Name)
	return nil
}

// newStaleCluster returns a cluster as of an hour ago: node a was unresponsive and tainted, all Leases are old.
func newStaleCluster(t *testing.T) *fake.Clientset {
	hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
	a := newNode("a")
	a.Status.Conditions[0].Status = corev1.ConditionUnknown
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule} {
		a.Spec.Taints = append(a.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect, TimeAdded: &hourAgo})
	}
	p, seconds := newReadyPod("p", "a"), int64(300)
	p.CreationTimestamp = hourAgo
	p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	api := fake.NewClientset(a, newNode("b"), newNode("c"), p, newReadyPod("q", "b"))
	for _, name := range []string{"a", "b", "c"} {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease}}
		at := metav1.NewMicroTime(hourAgo.Time)
		l.Spec.RenewTime = &at
		if err := api.Tracker().Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return api
}

// restartNode reports a node as Ready, as an agent does at its start.
func restartNode(ctx context.Context, t *testing.T, api kubernetes.Interface, name string) {
	n, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	n.Status.Conditions[0].Status, n.Status.Conditions[0].LastHeartbeatTime = corev1.ConditionTrue, metav1.Now()
	if _, err := api.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestNoEvictionsAfterRestart checks that no pod is evicted from a cluster that was suspended, if its agents start after
// the controllers.
func TestNoEvictionsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		api := newStaleCluster(t)
		var wg sync.WaitGroup
		factory := informers.NewSharedInformerFactory(api, 0)
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, nodelifecycle.Defaults(), nil); err != nil {
				t.Error(err)
			}
		})
		var recording recordingDisplacer
		wg.Go(func() {
			if err := tainteviction.Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, &recording, enginetaints.Options{StartupGrace: time.Minute}, nil); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(30 * time.Second)
		for _, name := range []string{"a", "b", "c"} {
			restartNode(ctx, t, api, name)
		}
		time.Sleep(45 * time.Second) // less than the grace period
		if len(recording.pods) != 0 {
			t.Errorf("evicted pods %v, want none", recording.pods)
		}
		for _, name := range []string{"a", "b", "c"} {
			if got := nodeState(ctx, t, api, name); got != "True" {
				t.Errorf("state of %s: %q, want True", name, got)
			}
		}
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
}
