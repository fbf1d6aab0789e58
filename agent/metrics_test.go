package agent_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/internal/journal"
)

// gatherMetrics returns all values other than 0 by metric name and labels.
func gatherMetrics(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v != 0 {
				out[name] = v
			}
		}
	}
	return out
}

func TestMetricsAndEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crashing := func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
			p.Annotations = map[string]string{simulated.RunSeconds: "4", simulated.ExitCode: "1"}
		}
		api := fake.NewClientset(pod("victim", withRequests("5", "1Gi")), pod("crashing", crashing))
		metrics, events := agent.NewMetrics(), record.NewFakeRecorder(100)
		_, stop := startAgent(t, api, func(o *agent.Options) { o.Metrics, o.Events = metrics, events })
		time.Sleep(time.Second)
		create(t, api, pod("large", withRequests("9", "1Gi")))
		time.Sleep(time.Second)
		create(t, api, pod("critical", withRequests("6", "1Gi"), withCriticalPriority))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := gatherMetrics(t, metrics)
		for name, want := range map[string]float64{
			"kubelet_running_pods":                        2,
			"kubelet_running_containers running":          1,
			"kubelet_started_containers_total":            4,
			"berth_agent_container_restarts_total":        1,
			"kubelet_admission_rejections_total OutOfcpu": 1,
			"kubelet_preemptions cpu":                     1,
		} {
			if got[name] != want {
				t.Errorf("%s = %v, want %v", name, got[name], want)
			}
		}
		if got["berth_agent_status_writes_total true"] == 0 || got["berth_agent_status_writes_total false"] != 0 {
			t.Errorf("metrics %v, want only successful status writes", got)
		}
		stop()
		close(events.Events)
		var messages []string
		for e := range events.Events {
			e, _, _ = strings.Cut(e, " map["+journal.Annotation)
			messages = append(messages, e)
		}
		for _, want := range []string{
			"Warning OutOfcpu Node didn't have enough resource: cpu, requested: 9000, used: 5000, capacity: 8000",
			"Warning Preempting Preempted in order to admit critical pod",
			"Normal Killing Stopping container c",
			"Warning BackOff Back-off restarting failed container c in pod crashing_default(crashing)",
		} {
			if !slices.Contains(messages, want) {
				t.Errorf("events %q, want one that is %q", messages, want)
			}
		}
	})
}
