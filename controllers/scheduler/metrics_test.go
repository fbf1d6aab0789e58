package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/queue"
)

// values returns the values of a metrics page, by name and labels.
func values(page string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(page) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			out[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return out
}

// runScenario binds two pods, rejects one, gates one, and preempts one. It returns the metrics page.
func runScenario(t *testing.T) (page string) {
	client := cluster("2")
	s, stop := start(t, client, client, nil)
	time.Sleep(time.Second)
	create(t, client, "low", "1500m", priority(1))
	time.Sleep(time.Second)
	create(t, client, "big", "64", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} })
	create(t, client, "gated", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} })
	time.Sleep(time.Minute)
	create(t, client, "high", "1500m", priority(1000))
	time.Sleep(time.Minute)
	if get(t, client, "high").Spec.NodeName != "n1" {
		t.Error("the high-priority pod was not bound, want it on n1")
	}
	if _, err := client.CoreV1().Pods("default").Get(t.Context(), "low", metav1.GetOptions{}); err == nil {
		t.Error("pod low, the victim, exists, want it deleted")
	}
	page = scrape(s, "good").Body.String()
	if err := stop(); err != nil {
		t.Error(err)
	}
	return page
}

func priority(p int32) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.Priority = &p } }

// TestMetrics checks names, labels and values of a deterministic run.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := runScenario(t)
		got := values(page)
		const profile = `profile="default-scheduler"`
		// The victim's deletion may be observed before or after the response. In the first case, pod high
		// has one more attempt, which has no result.
		attempts := 2
		if got[`scheduler_pod_scheduling_attempts_sum`] == "4" {
			attempts = 3
		}
		for name, want := range map[string]string{
			`scheduler_schedule_attempts_total{` + profile + `,result="scheduled"}`:                                               "2",
			`scheduler_schedule_attempts_total{` + profile + `,result="unschedulable"}`:                                           "2",
			`scheduler_scheduling_attempt_duration_seconds_count{` + profile + `,result="scheduled"}`:                             "2",
			`scheduler_scheduling_algorithm_duration_seconds_count`:                                                               "4",
			`scheduler_pod_scheduling_attempts_sum`:                                                                               fmt.Sprint(1 + attempts),
			`scheduler_pod_scheduling_attempts_bucket{le="1"}`:                                                                    "1",
			`scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}`:                                                   "1",
			fmt.Sprintf(`scheduler_pod_scheduling_sli_duration_seconds_count{attempts="%d"}`, attempts):                           "1",
			`scheduler_preemption_attempts_total`:                                                                                 "2",
			`scheduler_preemption_victims_sum`:                                                                                    "1",
			`scheduler_preemption_victims_count`:                                                                                  "1",
			`scheduler_pending_pods{queue="active"}`:                                                                              "0",
			`scheduler_pending_pods{queue="unschedulable"}`:                                                                       "1",
			`scheduler_pending_pods{queue="backoff"}`:                                                                             "0",
			`scheduler_pending_pods{queue="gated"}`:                                                                               "1",
			`scheduler_cache_size{type="nodes"}`:                                                                                  "1",
			`scheduler_cache_size{type="pods"}`:                                                                                   "1",
			`scheduler_cache_size{type="assumed_pods"}`:                                                                           "0",
			`scheduler_inflight_events{event="PodPopped"}`:                                                                        "0",
			`scheduler_goroutines{operation="binding"}`:                                                                           "0",
			`scheduler_goroutines{operation="prioritizing_extender"}`:                                                             "0",
			`scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",` + profile + `,status="Success"}`: "2",
			`scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit",` + profile + `}`:               "4",
			`scheduler_plugin_evaluation_total{extension_point="PreFilter",plugin="NodeAffinity",` + profile + `}`:                "1",
			`scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"}`:                                                  "3",
			`scheduler_queue_incoming_pods_total{event="PodAdd",queue="gated"}`:                                                   "1",
			`scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"}`:                           fmt.Sprint(attempts),
			`scheduler_unschedulable_pods{plugin="NodeAffinity",profile="default-scheduler"}`:                                     "1",
			`scheduler_pod_scheduled_after_flush_total`:                                                                           "0",
			`berth_scheduler_missed_wakeups_total`:                                                                                "0",
			`berth_scheduler_debits_refused_total`:                                                                                "0",
		} {
			if got[name] != want {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
		for _, part := range []string{"go_goroutines ", "process_cpu_seconds_total ", "berth_build_info{", "scheduler_event_handling_duration_seconds_count{",
			`scheduler_scheduling_algorithm_duration_seconds_bucket{le="0.001"}`, `scheduler_preemption_victims_bucket{le="64"}`,
			`scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="5242.88"}`} {
			if !strings.Contains(page, part) {
				t.Errorf("got metrics %s\nwant %s", page, part)
			}
		}
		if t.Failed() {
			t.Log(page)
		}
	})
}

// TestIncomingPodsByEvent checks queue_incoming_pods_total in a run in which a different event requeues each pod.
// engine/queue checks that every cause has a name.
func TestIncomingPodsByEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		updateNode := func(f func(*corev1.Node)) {
			t.Helper()
			n, err := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
			if err == nil {
				f(n)
				_, err = client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		updatePod := func(name string, f func(*corev1.Pod)) {
			t.Helper()
			p := get(t, client, name)
			f(p)
			if _, err := client.CoreV1().Pods("default").Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		create(t, client, "gated", "100m", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} })
		create(t, client, "node-selector", "100m", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
		create(t, client, "big", "4")
		time.Sleep(time.Minute)
		updatePod("gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })
		updateNode(func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd"} })
		updateNode(func(n *corev1.Node) { n.Status.Allocatable["cpu"] = resource.MustParse("8") })
		time.Sleep(time.Minute)
		updateNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		})
		time.Sleep(time.Second) // the watch of nodes may lag behind that of pods
		create(t, client, "untolerated", "100m")
		create(t, client, "changed", "100m")
		create(t, client, "huge", "64")
		time.Sleep(time.Minute)
		updatePod("changed", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "k"}} })
		time.Sleep(time.Minute)
		updateNode(func(n *corev1.Node) { n.Spec.Taints = nil })
		time.Sleep(6 * time.Minute)
		got := values(scrape(s, "good").Body.String())
		for event, want := range map[string]string{"PodAdd": "5", "PodUpdatePodSchedulingGatesEliminated": "1", "NodeUpdateNodeLabel": "1",
			"NodeUpdateNodeAllocatable": "1", "PodUpdate": "1", "NodeUpdateNodeTaint": "1", "UnschedulableTimeout": "1"} {
			if n := got[fmt.Sprintf(`scheduler_queue_incoming_pods_total{event=%q,queue="active"}`, event)]; n != want {
				t.Errorf("%s: %q pods, want %s", event, n, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestPodsInFlightAreNotPending checks that a pod whose binding is not finished is in flight and in no queue.
func TestPodsInFlightAreNotPending(t *testing.T) {
	m := newMetrics(nil, clock.RealClock{})
	m.depths = queue.Depths{Active: 1, InFlight: 2}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.Metric {
			for _, l := range metric.Label {
				got[f.GetName()+" "+l.GetValue()] = metric.Gauge.GetValue()
			}
		}
	}
	if got["scheduler_pending_pods active"] != 1 || got["scheduler_inflight_events PodPopped"] != 2 {
		t.Errorf("metrics %v, want 1 active pod and 2 pods in flight", got)
	}
}
