package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// resizingPod returns a pod on n7 whose resize to cpu millicores the node defers.
func resizingPod(cpu int64) *model.Pod {
	p := pod("web", "n7", 10, cpu)
	p.DeferredResize = &model.DeferredResize{Current: model.Resources{MilliCPU: 500}}
	return p
}

func TestExplainDeferredResize(t *testing.T) {
	terminating := pod("batch-3", "n7", 0, 2000)
	terminating.Deleting, terminating.DisruptionReason = true, "PreemptionByScheduler"
	never := resizingPod(3000)
	never.Spec.NeverPreempts = true
	disabled := node("n7", nil)
	disabled.NoResizePreemption = true
	for want, e := range map[string]*PodExplanation{
		"n7 defers a resize of the pod: Insufficient cpu\npreemption for it would evict default/batch-3; the option scheduler.inPlacePodVerticalScalingSchedulerPreemption is off\n": explain(t, resizingPod(3000), node("n7", nil), pod("batch-3", "n7", 0, 2000)),
		"n7 defers a resize of the pod: Insufficient cpu\npreemption for it is in progress: victims are still terminating on the node\n":                                             explain(t, resizingPod(3000), node("n7", nil), terminating),
		"n7 defers a resize of the pod: Insufficient cpu\npreemption of pods with a lower priority would not make room for it\n":                                                     explain(t, resizingPod(3000), node("n7", nil), pod("batch-3", "n7", 10, 2000)),
		"n7 defers a resize of the pod: Insufficient cpu\nthe pod must not preempt (preemptionPolicy: Never)\n":                                                                      explain(t, never, node("n7", nil), pod("batch-3", "n7", 0, 2000)),
		"n7 defers a resize of the pod: node had resize preemption disabled\n":                                                                                                       explain(t, resizingPod(3000), disabled, pod("batch-3", "n7", 0, 2000)),
		"n7 defers a resize of the pod\nit fits the node now; the node has not admitted it yet\n":                                                                                    explain(t, resizingPod(3000), node("n7", nil)),
	} {
		if got := explanationText(t, e); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

func TestExplainDeferredResizeJSON(t *testing.T) {
	e := explain(t, resizingPod(3000), node("n7", nil), pod("batch-3", "n7", 0, 2000))
	e.ResizePreemption = true
	data, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var view struct {
		DeferredResize struct {
			Reasons    []string
			Preemption struct {
				Outcome string
				Victims []string
			}
			PreemptionEnabled bool
		}
	}
	if err := json.Unmarshal(data, &view); err != nil {
		t.Fatal(err)
	}
	r := view.DeferredResize
	if strings.Join(r.Reasons, ",") != "Insufficient cpu" || r.Preemption.Outcome != "nominated" || strings.Join(r.Preemption.Victims, ",") != "default/batch-3" || !r.PreemptionEnabled {
		t.Errorf("got %+v, want one victim and the reason in %s", r, data)
	}
	if got := explanationText(t, e); strings.Contains(got, "is off") {
		t.Errorf("want no hint about the option in\n%s", got)
	}
}
