package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/runtime/simulated"
)

// pod returns a pod bound to n0, modified by change.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := boundPod(name, "n0", nil)
	p.UID = types.UID(name)
	for _, c := range change {
		c(p)
	}
	return p
}

func withRequests(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

func withHostPort(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: n, ContainerPort: n, Protocol: corev1.ProtocolTCP}}
	}
}

func withCriticalPriority(p *corev1.Pod) { p.Spec.Priority = ptr.To[int32](2_000_000_000) }

func create(t *testing.T, api *fake.Clientset, pods ...*corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		if _, err := api.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// waitBriefly advances the time by 5 s and waits until all goroutines are blocked.
func waitBriefly() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

func TestAdmission(t *testing.T) {
	sysctl := func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}
	}
	selector := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
	}
	for name, tc := range map[string]struct {
		pod             *corev1.Pod
		reason, message string // empty: the pod runs
	}{
		"too much CPU":       {pod("p", withRequests("6", "1Gi")), "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 6000, used: 4000, capacity: 8000"},
		"too much memory":    {pod("p", withRequests("1", "15Gi")), "OutOfmemory", "requested: 16106127360, used: 2147483648, capacity: 17179869184"},
		"just enough":        {pod("p", withRequests("4", "14Gi")), "", ""},
		"a port in use":      {pod("p", withHostPort(80)), "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		"another zone":       {pod("p", selector("zone", "x")), "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		"the node's name":    {pod("p", selector("kubernetes.io/hostname", "n0")), "", ""},
		"unsafe sysctl":      {pod("p", sysctl), "SysctlForbidden", `forbidden sysctl: "kernel.msgmax" not allowlisted`},
		"selector of an OS":  {pod("p", selector("kubernetes.io/os", "windows")), "PodOSSelectorNodeLabelDoesNotMatch", "`kubernetes.io/os` label"},
		"pod for another OS": {pod("p", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: "windows"} }), "PodOSNotSupported", "the OS field doesn't match"},
		"unknown resources": {pod("p", func(p *corev1.Pod) {
			withRequests("1", "1Gi")(p)
			p.Spec.Containers[0].Resources.Requests["example.com/x"] = resource.MustParse("3")
		}), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(pod("existing", withRequests("4", "2Gi"), withHostPort(80)))
				defer startCluster(t, api, 1)()
				waitBriefly()
				create(t, api, tc.pod)
				waitBriefly()
				got := get(t, api, "p").Status
				if tc.reason == "" && got.Phase != corev1.PodRunning || tc.reason != "" && (got.Phase != corev1.PodFailed || got.Reason != tc.reason || !strings.Contains(got.Message, tc.message)) {
					t.Errorf("status %s %s: %s, want %q %q", got.Phase, got.Reason, got.Message, tc.reason, tc.message)
				}
				if tc.reason != "" && len(got.ContainerStatuses) > 0 {
					t.Errorf("container statuses of a rejected pod: %v, want none", got.ContainerStatuses)
				}
				if p := get(t, api, "existing"); p.Status.Phase != corev1.PodRunning {
					t.Errorf("the existing pod is %s, want Running", p.Status.Phase)
				}
			})
		})
	}
}

func TestNoExecuteTaintRejectsPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		defer startCluster(t, api, 1)()
		waitBriefly()
		n, err := api.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}, {Key: "full", Effect: corev1.TaintEffectNoSchedule}}
		if _, err := api.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		create(t, api, pod("p"), pod("q", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "broken", Operator: corev1.TolerationOpExists}}
		}))
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed || p.Reason != "TaintToleration" {
			t.Errorf("status %s %s, want Failed TaintToleration", p.Phase, p.Reason)
		}
		if p := get(t, api, "q").Status; p.Phase != corev1.PodRunning {
			t.Errorf("pod that tolerates the taint: %s: %s, want Running", p.Phase, p.Message)
		}
	})
}

// TestAdmissionReadsCurrentNodeLabels checks that a pod is admitted if the node gets a label just
// before a pod that selects the label is bound.
func TestAdmissionReadsCurrentNodeLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		defer startCluster(t, api, 1)()
		waitBriefly()
		patch := []byte(`{"metadata":{"labels":{"zone":"a"}}}`)
		if _, err := api.CoreV1().Nodes().Patch(t.Context(), "n0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		create(t, api, pod("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "a"} }))
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodRunning {
			t.Errorf("status %s %s: %s, want Running", p.Phase, p.Reason, p.Message)
		}
	})
}

func TestCriticalPodPreempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "20"} }
		api := fake.NewClientset(pod("small", withRequests("1", "1Gi")), pod("large", withRequests("6", "1Gi"), slow), pod("other-critical", withRequests("1", "1Gi"), withCriticalPriority))
		defer startCluster(t, api, 1)()
		waitBriefly()
		create(t, api, pod("p", withRequests("5", "1Gi"), withCriticalPriority))
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != "" {
			t.Errorf("before the preemption completes: %s: %s, want no phase", p.Phase, p.Message)
		}
		// No other pod gets the resources meanwhile.
		create(t, api, pod("late", withRequests("3", "1Gi")))
		time.Sleep(20 * time.Second)
		waitBriefly()
		for name, want := range map[string]string{"small": "Running", "large": "Failed Preempting", "other-critical": "Running", "p": "Running", "late": "Failed OutOfcpu"} {
			got := get(t, api, name).Status
			if strings.TrimSpace(string(got.Phase)+" "+got.Reason) != want {
				t.Errorf("%s is %s %s, want %s", name, got.Phase, got.Reason, want)
			}
		}
		large := get(t, api, "large").Status
		if c := conditionOf(&large, corev1.DisruptionTarget); c == nil || c.Reason != corev1.PodReasonTerminationByKubelet || large.Message != "Preempted in order to admit critical pod" {
			t.Errorf("condition %v, message %q, want reason %s and the message of a preemption", c, large.Message, corev1.PodReasonTerminationByKubelet)
		}
	})
}

func conditionOf(s *corev1.PodStatus, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// TestAdmittedPodKeepsResourcesAfterRestart checks that pods admitted before a restart keep their
// resources, even if a rejected pod is older.
func TestAdmittedPodKeepsResourcesAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("z-existing", withRequests("8", "1Gi")))
		stop := startCluster(t, api, 1)
		waitBriefly()
		stop()
		create(t, api, pod("a-new", withRequests("8", "1Gi"), func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Unix(0, 0)) }))
		defer startCluster(t, api, 1)()
		waitBriefly()
		if p := get(t, api, "z-existing").Status; p.Phase != corev1.PodRunning {
			t.Errorf("the existing pod is %s: %s, want Running", p.Phase, p.Message)
		}
		if p := get(t, api, "a-new").Status; p.Reason != "OutOfcpu" {
			t.Errorf("the pod created during the restart is %s %s, want Failed OutOfcpu", p.Phase, p.Reason)
		}
	})
}

// TestResourcesAreReleased checks that a terminated pod releases its resources.
func TestResourcesAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("first", withRequests("8", "1Gi"), func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.RunSeconds: "10"} }))
		defer startCluster(t, api, 1)()
		time.Sleep(20 * time.Second)
		create(t, api, pod("p", withRequests("8", "1Gi")))
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodRunning {
			t.Errorf("status %s %s: %s, want Running", p.Phase, p.Reason, p.Message)
		}
	})
}
