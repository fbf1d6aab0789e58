package scripted_test

import (
	"context"
	"slices"
	"strings"
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
	"github.com/berthproject/berth/agent/pressure/scripted"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/config"
)

// pod returns a pod whose usage script describes, unless it is empty.
func pod(name, script string) *corev1.Pod {
	grace := int64(30)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if script != "" {
		p.Annotations[usage.Annotation] = script
	}
	return p
}

// cluster runs an agent and a manager for a node of 4 GiB under a synthetic clock.
func cluster(t *testing.T, annotations map[string]string, pods ...*corev1.Pod) *fake.Clientset {
	t.Helper()
	api := fake.NewClientset()
	for _, p := range pods {
		create(t, api, p)
	}
	serve(t, api, annotations, nil)
	return api
}

// serve runs the agent and the manager. annotations are the node's annotations.
func serve(t *testing.T, api *fake.Clientset, annotations map[string]string, events record.EventRecorder) {
	t.Helper()
	n := agent.NewNode("n1", resource.MustParse("8"), resource.MustParse("4Gi"))
	n.Annotations = annotations
	nodes := []*corev1.Node{n}
	kubelet := config.DefaultKubelet().Pressure
	kubelet.Options = nodepressure.AllOptions()
	s := scripted.New(scripted.Options{Events: events, Nodes: nodes, Config: kubelet, Log: klog.Background(),
		Reserve: nodepressure.DiskReserveConfig{Bytes: [nodepressure.NumFilesystems]int64{nodepressure.DefaultDiskReserve, nodepressure.DefaultDiskReserve}, TransitionPeriod: nodepressure.DefaultDiskReserveTransition}})
	a, err := agent.New(agent.Options{Client: api, Nodes: nodes, Log: klog.Background(), Pressure: s.Node,
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return s.Runtime(simulated.New(report)) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- a.Run(ctx) }()
	go func() { done <- s.Run(ctx, a) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func create(t *testing.T, api *fake.Clientset, p *corev1.Pod) {
	t.Helper()
	if _, err := api.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, api *fake.Clientset, name string) *corev1.Pod {
	t.Helper()
	p, err := api.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trueConditions returns the node conditions other than Ready that are true.
func trueConditions(t *testing.T, api *fake.Clientset) (out []string) {
	t.Helper()
	n, err := api.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type != corev1.NodeReady {
			out = append(out, string(c.Type))
		}
	}
	return out
}

// waitFor advances the synthetic clock.
func waitFor(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestScriptedPodsAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := cluster(t, nil, pod("hog", "memory=100Mi,4000Mi@60s"), pod("idle", ""))
		waitFor(50 * time.Second)
		if p := get(t, api, "hog"); p.Status.Phase != corev1.PodRunning {
			t.Fatalf("phase of hog before the memory shortage %s, want Running", p.Status.Phase)
		}
		waitFor(15 * time.Second)
		p := get(t, api, "hog")
		if p.Status.Phase != corev1.PodFailed || p.Status.Reason != "Evicted" || !strings.Contains(p.Status.Message, "Threshold quantity: 100Mi") {
			t.Errorf("status of hog %s, %s: %s, want an eviction with threshold 100Mi", p.Status.Phase, p.Status.Reason, p.Status.Message)
		}
		if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		}) {
			t.Errorf("conditions of hog %v, want DisruptionTarget", p.Status.Conditions)
		}
		if got := trueConditions(t, api); !slices.Equal(got, []string{"MemoryPressure"}) {
			t.Errorf("conditions %v, want MemoryPressure", got)
		}
		create(t, api, pod("new", ""))
		waitFor(time.Second)
		if p := get(t, api, "new"); p.Status.Reason != "Evicted" || !strings.Contains(p.Status.Message, "[MemoryPressure]") {
			t.Errorf("status of the new pod %s: %s, want an eviction for MemoryPressure", p.Status.Phase, p.Status.Message)
		}
		if p := get(t, api, "idle"); p.Status.Phase != corev1.PodRunning {
			t.Errorf("phase of idle %s, want Running", p.Status.Phase)
		}
		waitFor(6 * time.Minute)
		if got := trueConditions(t, api); got != nil {
			t.Errorf("conditions %v after 6 minutes, want none", got)
		}
	})
}

func TestImageCollectionPreventsEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		annotations := map[string]string{usage.Annotation: "images=30Gi,95Gi@20s", usage.CapacityAnnotation: "nodefs=100Gi"}
		api := cluster(t, annotations, pod("idle", ""))
		waitFor(30 * time.Second)
		if got := trueConditions(t, api); !slices.Equal(got, []string{"DiskPressure"}) {
			t.Errorf("conditions %v, want DiskPressure", got)
		}
		if p := get(t, api, "idle"); p.Status.Phase != corev1.PodRunning {
			t.Errorf("phase of idle %s, want Running: the deletion of images frees enough", p.Status.Phase)
		}
	})
}

func TestFullDiskSetsConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		annotations := map[string]string{usage.CapacityAnnotation: "nodefs=1Gi"}
		api := cluster(t, annotations, pod("full", "logs=900Mi"))
		waitFor(5 * time.Second)
		if got := trueConditions(t, api); !slices.Contains(got, "OutOfDisk") || !slices.Contains(got, "DiskPressure") {
			t.Errorf("conditions %v, want OutOfDisk and DiskPressure", got)
		}
	})
}

func TestPressureSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}}}})
		serve(t, api, nil, nil)
		waitFor(4 * time.Minute)
		if got := trueConditions(t, api); !slices.Equal(got, []string{"MemoryPressure"}) {
			t.Errorf("conditions %v after 4 minutes, want MemoryPressure", got)
		}
		waitFor(2 * time.Minute)
		if got := trueConditions(t, api); got != nil {
			t.Errorf("conditions %v after 6 minutes, want none", got)
		}
	})
}

// TestInvalidAnnotationsAreReported checks that an invalid annotation is reported once, and again
// if its error changes.
func TestInvalidAnnotationsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, events := fake.NewClientset(), record.NewFakeRecorder(100)
		badDuration, badUsage := pod("bad", ""), pod("odd", "memory=foo")
		badDuration.Annotations[simulated.RunSeconds] = "abc"
		for _, p := range []*corev1.Pod{badDuration, badUsage, pod("good", "memory=1Mi")} {
			create(t, api, p)
		}
		serve(t, api, nil, events)
		reports := func() (out []string) {
			for len(events.Events) > 0 {
				out = append(out, <-events.Events)
			}
			slices.Sort(out)
			return out
		}
		waitFor(5 * time.Minute)
		got := reports()
		if len(got) != 2 || !strings.HasPrefix(got[0], `Warning UnreadableAnnotation sim.berth.dev/run-seconds: "abc": must be`) ||
			!strings.HasPrefix(got[1], `Warning UnreadableAnnotation sim.berth.dev/usage: "memory=foo": memory`) {
			t.Errorf("events %q, want one for each of the two invalid values", got)
		}
		p := get(t, api, "odd")
		p.Annotations[usage.Annotation] = "memory=bar"
		if _, err := api.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(time.Second)
		if got := reports(); len(got) != 1 || !strings.Contains(got[0], "memory=bar") {
			t.Errorf("events %q, want one for the new value", got)
		}
	})
}

// TestObservedDiskRejectsPods checks that a node whose disk is full rejects pods after Observe, before the first check.
func TestObservedDiskRejectsPods(t *testing.T) {
	n := agent.NewNode("n1", resource.MustParse("8"), resource.MustParse("4Gi"))
	n.Annotations = map[string]string{usage.CapacityAnnotation: "nodefs=1Gi"}
	s := scripted.New(scripted.Options{Nodes: []*corev1.Node{n}, Config: config.DefaultKubelet().Pressure, Log: klog.Background(),
		Reserve: nodepressure.DiskReserveConfig{Bytes: [nodepressure.NumFilesystems]int64{nodepressure.DefaultDiskReserve, nodepressure.DefaultDiskReserve}, TransitionPeriod: nodepressure.DefaultDiskReserveTransition}})
	full := pod("full", "logs=900Mi")
	full.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	next := pod("next", "")
	if r := s.Node("n1").Admit(next); r != nil {
		t.Errorf("rejected before the observation: %+v", r)
	}
	s.Observe("n1", []*corev1.Pod{full})
	if r := s.Node("n1").Admit(next); r == nil || !strings.Contains(r.Message, "disk") {
		t.Errorf("got rejection %+v, want one for the full disk", r)
	}
}
