package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
)

// drainEvents returns the events recorded since the last call.
func drainEvents(r *record.FakeRecorder) (out []string) {
	for {
		select {
		case e := <-r.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// changingPressure reports MemoryPressure while memory is set.
type changingPressure struct{ memory bool }

func (*changingPressure) Admit(*corev1.Pod) *agent.Rejection { return nil }

func (c *changingPressure) Conditions() []corev1.NodeCondition {
	if !c.memory {
		return nil
	}
	return []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasInsufficientMemory"}}
}

func TestNodeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, events := fake.NewClientset(), record.NewFakeRecorder(100)
		expect := func(when string, want ...string) {
			t.Helper()
			waitBriefly()
			if got := drainEvents(events); !slices.Equal(got, want) {
				t.Errorf("%s:\n %s\nwant\n %s", when, strings.Join(got, "\n "), strings.Join(want, "\n "))
			}
		}
		status := func(reason string) string { return "Normal " + reason + " Node n0 status is now: " + reason }
		pressure, boot := &changingPressure{}, "boot-1"
		var s scriptedRuntime
		start := func() (stop func()) {
			return startScriptedAgent(t, api, &s, func(o *agent.Options) {
				o.NodeEvents, o.Pressure = events, func(string) agent.PressureManager { return pressure }
				o.Nodes[0].Status.NodeInfo.BootID = boot
			})
		}
		stop := start()
		expect("start", "Normal Starting Starting kubelet.", status("NodeHasSufficientMemory"), status("NodeHasNoDiskPressure"), status("NodeHasSufficientPID"), status("NodeReady"))
		stop()
		boot, pressure.memory = "boot-2", true
		defer start()()
		expect("restart", "Normal Starting Starting kubelet.", "Warning Rebooted Node n0 has been rebooted, boot id: boot-2", status("NodeHasInsufficientMemory"))
		for _, unschedulable := range []string{"true", "false"} {
			patch := `{"spec":{"unschedulable":` + unschedulable + `}}`
			if _, err := api.CoreV1().Nodes().Patch(t.Context(), "n0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			waitBriefly()
		}
		expect("cordoned, then uncordoned", status("NodeNotSchedulable"), status("NodeSchedulable"))
	})
}

// TestSimulatedNodeEvents checks that simulated nodes record their start as real nodes do, unless thousands start
// together. They always record changes of their conditions.
func TestSimulatedNodeEvents(t *testing.T) {
	status := func(node, reason string) string {
		return "Normal " + reason + " Node " + node + " status is now: " + reason
	}
	start := []string{"Normal Starting Starting kubelet.", status("n0", "NodeHasSufficientMemory"), status("n0", "NodeHasNoDiskPressure"),
		status("n0", "NodeHasSufficientPID"), status("n0", "NodeReady")}
	for _, c := range []struct {
		nodes int
		want  []string
	}{{1, start}, {101, nil}} {
		synctest.Test(t, func(t *testing.T) {
			api, events := fake.NewClientset(), record.NewFakeRecorder(1000)
			pressure := &changingPressure{}
			a, stop := startAgent(t, api, func(o *agent.Options) {
				o.NodeEvents, o.Pressure = events, func(node string) agent.PressureManager {
					if node != "n0" {
						return nil
					}
					return pressure
				}
				for len(o.Nodes) < c.nodes {
					n := o.Nodes[0].DeepCopy()
					n.Name = fmt.Sprintf("n%d", len(o.Nodes))
					o.Nodes = append(o.Nodes, n)
				}
			})
			defer stop()
			waitBriefly()
			if got := drainEvents(events); !slices.Equal(got, c.want) {
				t.Errorf("%d nodes: events at start: %q, want %q", c.nodes, got, c.want)
			}
			pressure.memory = true
			a.Report("n0")
			waitBriefly()
			if got := drainEvents(events); !slices.Equal(got, []string{status("n0", "NodeHasInsufficientMemory")}) {
				t.Errorf("%d nodes: events under pressure: %q, want one NodeHasInsufficientMemory", c.nodes, got)
			}
		})
	}
}
