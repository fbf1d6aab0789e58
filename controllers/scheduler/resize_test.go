package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deferred binds a pod to n1 with the given allocated CPU. The resize to the requests in its spec is deferred.
func deferred(allocated string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		requests := corev1.ResourceList{"cpu": resource.MustParse(allocated)}
		p.Spec.NodeName = "n1"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: requests, Resources: &corev1.ResourceRequirements{Requests: requests}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}}
	}
}

// TestPreemptionForDeferredResize checks victims, events and metrics of preemption for resizes, and that the option
// is off by default.
func TestPreemptionForDeferredResize(t *testing.T) {
	const notHelpful = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
	for name, tc := range map[string]struct {
		enabled, disabledOnNode bool
		size                    string // desired by the resize
		preempted               bool
		message                 string
		pending                 string
		attempts, victims       string
	}{
		"on":                   {true, false, "1500m", true, "", "1", "1", "1"},
		"impossible":           {true, false, "2500m", false, "0/1 nodes are available: 1 Insufficient cpu." + notHelpful, "1", "1", "0"},
		"disabled on the node": {true, true, "1500m", false, "0/1 nodes are available: 1 node had resize preemption disabled." + notHelpful, "1", "1", "0"},
		"off":                  {false, false, "1500m", false, "", "0", "0", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := cluster("2")
				if tc.disabledOnNode {
					n, _ := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
					n.Spec.PodPreemptionPolicy = &corev1.NodePodPreemptionPolicy{DisableResizePreemption: []string{"autoscaler"}}
					if _, err := client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				s, stop := start(t, client, client, nil, func(o *Options) { o.ResizePreemption = tc.enabled })
				create(t, client, "low", "1500m", priority(1))
				time.Sleep(time.Minute)
				create(t, client, "high", tc.size, priority(1000), deferred("500m"))
				time.Sleep(time.Minute)
				if _, err := client.CoreV1().Pods("default").Get(t.Context(), "low", metav1.GetOptions{}); apierrors.IsNotFound(err) != tc.preempted {
					t.Errorf("reading the pod of lower priority returned error %v, want it preempted: %t", err, tc.preempted)
				}
				events, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
				message := ""
				for _, e := range events.Items {
					if e.Reason == "FailedScheduling" && e.Regarding.Name == "high" {
						message = e.Note
					}
				}
				if err != nil || message != tc.message {
					t.Errorf("message %q and error %v of the event, want %q", message, err, tc.message)
				}
				if p := get(t, client, "high"); p.Status.NominatedNodeName != "" || len(p.Status.Conditions) != 1 {
					t.Errorf("the scheduler wrote status %+v of the pod, want no change", p.Status)
				}
				got := values(scrape(s, "good").Body.String())
				for name, want := range map[string]string{`scheduler_pending_resize_pods{queue="unschedulable"}`: tc.pending, `scheduler_preemption_attempts_total`: "0",
					`scheduler_resize_preemption_attempts_total`: tc.attempts, `scheduler_resize_preemption_victims_sum`: tc.victims} {
					if got[name] != want {
						t.Errorf("%s is %q, want %q", name, got[name], want)
					}
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
