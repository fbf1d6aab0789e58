package agent_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// resizeCluster is an agent of node n0 with 8 CPUs and 16Gi.
type resizeCluster struct {
	t      *testing.T
	api    *fake.Clientset
	events *record.FakeRecorder
	store  *memoryStore
	// resizeError is the error of the runtime's resizes; "": they succeed.
	resizeError string
	log         klog.Logger
	stop        func()
}

func newResizeCluster(t *testing.T, pods ...*corev1.Pod) *resizeCluster {
	c := &resizeCluster{t: t, api: fake.NewClientset(), events: record.NewFakeRecorder(100), store: &memoryStore{}, log: klog.Background()}
	create(t, c.api, pods...)
	c.start()
	return c
}

func (c *resizeCluster) start() {
	a, err := agent.New(agent.Options{
		Client: c.api, Nodes: []*corev1.Node{agent.NewNode("n0", resource.MustParse("8"), resource.MustParse("16Gi"))}, Log: c.log,
		Events: c.events, Allocations: c.store,
		Runtime: func(report func(runtime.Report)) runtime.Runtime {
			return &failingRuntime{simulated.New(report), report, c}
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	c.stop = func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	}
	waitBriefly()
}

// failingRuntime fails resizes with the error that its cluster sets.
type failingRuntime struct {
	*simulated.Runtime
	report  func(runtime.Report)
	cluster *resizeCluster
}

func (r *failingRuntime) Resize(pod *corev1.Pod, actual runtime.Resources) {
	if r.cluster.resizeError == "" {
		r.Runtime.Resize(pod, actual)
		return
	}
	r.report(runtime.Report{Pod: pod.UID, Resize: &runtime.ResizeResult{Target: pod, Applied: actual, Error: r.cluster.resizeError}})
}

// memoryStore is an AllocationStore in memory.
type memoryStore struct {
	mu          sync.Mutex
	allocations map[types.UID]agent.Allocation
	saveErr     error
	saves       int
}

func (s *memoryStore) Load() (map[types.UID]agent.Allocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.allocations), nil
}

func (s *memoryStore) Save(allocations map[types.UID]agent.Allocation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.saveErr != nil {
		return s.saveErr
	}
	s.allocations = allocations
	return nil
}

func (c *resizeCluster) resize(name, cpu string) {
	c.t.Helper()
	p := get(c.t, c.api, name)
	withRequests(cpu, "1Gi")(p)
	p.Generation++
	if _, err := c.api.CoreV1().Pods("default").Update(c.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	waitBriefly()
}

// state returns the allocated and actual CPU of a pod and its resize conditions.
func (c *resizeCluster) state(name string) string {
	s := get(c.t, c.api, name).Status
	cs := s.ContainerStatuses[0]
	text := cs.AllocatedResources.Cpu().String() + " " + cs.Resources.Requests.Cpu().String()
	for _, cond := range s.Conditions {
		if strings.HasPrefix(string(cond.Type), "PodResize") {
			text += " " + string(cond.Type) + "=" + cond.Reason + ":" + cond.Message
		}
	}
	return text
}

func (c *resizeCluster) expect(name, want string) {
	c.t.Helper()
	if got := c.state(name); got != want {
		c.t.Errorf("pod %s: %s, want %s", name, got, want)
	}
}

// resizeEvents returns the resize events since the last call.
func (c *resizeCluster) resizeEvents() (events []string) {
	for {
		select {
		case e := <-c.events.Events:
			if strings.Contains(e, "Resize") {
				events = append(events, e)
			}
		default:
			return events
		}
	}
}

func TestResizeIsAdmittedOrPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newResizeCluster(t, pod("a", withRequests("2", "1Gi")), pod("b", withRequests("3", "1Gi")))
		defer func() { c.stop() }()
		c.expect("a", "2 2")
		c.resize("a", "5")
		c.expect("a", "5 5")
		got := c.resizeEvents()
		if len(got) != 2 || !strings.HasPrefix(got[0], "Normal ResizeStarted Pod resize started: {\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"5\"") ||
			!strings.HasPrefix(got[1], "Normal ResizeCompleted") {
			t.Errorf("events %q, want ResizeStarted and ResizeCompleted", got)
		}
		c.resize("a", "6")
		c.expect("a", "5 5 PodResizePending=Deferred:Node didn't have enough resource: cpu, requested: 6000, used: 3000, capacity: 8000")
		c.resize("a", "9")
		c.expect("a", "5 5 PodResizePending=Infeasible:Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000")
		if got := c.resizeEvents(); len(got) != 2 || !strings.Contains(got[0], "Warning ResizeDeferred") || !strings.Contains(got[1], "Warning ResizeInfeasible") {
			t.Errorf("events %q, want ResizeDeferred and ResizeInfeasible", got)
		}
		c.resize("a", "5")
		c.expect("a", "5 5")
	})
}

func TestDeferredResizesAreRetriedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		priority := func(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }
		c := newResizeCluster(t, pod("early", withRequests("1", "1Gi")), pod("late", withRequests("1", "1Gi")), pod("high", withRequests("1", "1Gi"), priority(5)),
			pod("other", withRequests("5", "1Gi")))
		defer func() { c.stop() }()
		c.resize("early", "3")
		c.resize("late", "3")
		c.resize("high", "3")
		c.resize("other", "3")
		c.expect("other", "3 3")
		c.expect("high", "3 3")
		c.expect("early", "1 1 PodResizePending=Deferred:Node didn't have enough resource: cpu, requested: 3000, used: 7000, capacity: 8000")
		if err := c.api.CoreV1().Pods("default").Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		c.expect("early", "3 3")
		if got := c.state("late"); !strings.Contains(got, "Deferred") {
			t.Errorf("late: %s, want a deferred resize", got)
		}
	})
}

func TestResizeErrorAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newResizeCluster(t, pod("a", withRequests("2", "1Gi")))
		c.resizeError = "attempting to set pod memory limit (1) below current usage (2)"
		c.resize("a", "3")
		want := "3 2 PodResizeInProgress=Error:" + c.resizeError
		c.expect("a", want)
		c.stop()
		c.start()
		c.expect("a", want)
		c.stop()
		c.resizeError = ""
		c.start()
		defer func() { c.stop() }()
		c.expect("a", "3 3")
	})
}

// TestAllocationSurvivesRestart checks that a pod that is resized while the agent does not run keeps its allocated
// resources. The new agent has the stored allocations, or only the pod's status.
func TestAllocationSurvivesRestart(t *testing.T) {
	for _, stored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newResizeCluster(t, pod("a", withRequests("2", "1Gi")), pod("b", withRequests("5", "1Gi")))
			c.stop()
			if !stored {
				c.store.allocations = nil // only the status remains
			}
			p := get(t, c.api, "a")
			withRequests("4", "1Gi")(p)
			if _, err := c.api.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.start()
			defer func() { c.stop() }()
			c.expect("a", "2 2 PodResizePending=Deferred:Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000")
			create(t, c.api, pod("c", withRequests("1", "1Gi")))
			waitBriefly()
			if got := get(t, c.api, "c").Status.Phase; got != corev1.PodRunning {
				t.Errorf("allocations stored: %v: phase %s of a pod that fits next to the allocations, want Running", stored, got)
			}
		})
	}
}

func TestResizePolicyRestartsContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newResizeCluster(t, pod("a", withRequests("2", "1Gi"), func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		}))
		defer func() { c.stop() }()
		c.resize("a", "3")
		time.Sleep(time.Minute)
		synctest.Wait()
		c.expect("a", "3 3")
		if got := get(t, c.api, "a").Status.ContainerStatuses[0].RestartCount; got != 1 {
			t.Errorf("%d restarts, want 1", got)
		}
	})
}
