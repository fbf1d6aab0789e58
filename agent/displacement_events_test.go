package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// TestRejectionHasRecord checks that a pod that the node rejects gets one event, which contains the
// displacement record.
func TestRejectionHasRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			pressure *agent.Rejection
			reason   string
		}{
			"resources": {nil, "OutOfcpu"},
			"pressure":  {&agent.Rejection{Reason: "Evicted", Message: "The node had condition: [DiskPressure]. "}, "Evicted"},
		} {
			api := fake.NewClientset(pod("p", withRequests("100", "1Gi")))
			broadcaster := record.NewBroadcaster()
			broadcaster.StartRecordingToSink(agent.NewEventSink(api))
			var s scriptedRuntime
			stop := startScriptedAgent(t, api, &s, func(o *agent.Options) {
				o.Events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: "n0"})
				o.Pressure = func(string) agent.PressureManager { return rejectingPressure{tc.pressure} }
			})
			waitBriefly()
			list, err := api.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%s: %d events, %v, want 1", name, len(list.Items), err)
			}
			e := list.Items[0]
			rec, err := journal.ParseDisplacement(e.Annotations[journal.Annotation])
			if err != nil || e.Name != displacer.RecordEventName("p", "p") || rec.Cause != "Admission" || rec.Writer != displacer.NodeAgent || rec.Reconstructed || rec.Reason != tc.reason || e.Labels[journal.Label] != "Admission" {
				t.Errorf("%s: event %s with labels %v and record %+v, %v, want cause Admission and reason %s", name, e.Name, e.Labels, rec, err, tc.reason)
			}
			if e.Reason != tc.reason || e.Source.Component != "kubelet" || e.Type != corev1.EventTypeWarning {
				t.Errorf("%s: %s event %s of %+v, want Warning %s of kubelet", name, e.Type, e.Reason, e.Source, tc.reason)
			}
			broadcaster.Shutdown()
			stop()
		}
	})
}

// TestDisplacementEvents checks that simulated nodes record only displacements.
func TestDisplacementEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, events := fake.NewClientset(pod("p", withRequests("100", "1Gi"))), record.NewFakeRecorder(10)
		_, stop := startAgent(t, api, func(o *agent.Options) { o.Events = agent.DisplacementEvents(events) })
		defer stop()
		waitBriefly()
		create(t, api, boundPod("q", "n0", nil))
		waitBriefly()
		if err := api.CoreV1().Pods("default").Delete(t.Context(), "q", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		if got := drainEvents(events); len(got) != 1 || !strings.HasPrefix(got[0], "Warning OutOfcpu ") {
			t.Errorf("events %q, want one Warning OutOfcpu", got)
		}
	})
}

// rejectingPressure is a PressureManager that rejects all pods, or none if Rejection is nil.
type rejectingPressure struct{ *agent.Rejection }

func (r rejectingPressure) Admit(*corev1.Pod) *agent.Rejection { return r.Rejection }
func (rejectingPressure) Conditions() []corev1.NodeCondition   { return nil }
