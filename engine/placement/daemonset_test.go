package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

func TestNodeShouldRunDaemonPod(t *testing.T) {
	ssd := model.NodeSelector{Labels: model.Labels{{Key: "disk", Value: "ssd"}}}
	named := model.NodeSelector{HasRequired: true, Required: []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{"b"}}}}}}
	for name, tc := range map[string]struct {
		spec                      model.PodSpec
		taint                     model.Taint
		shouldRun, shouldContinue bool
	}{
		"no constraints":   {shouldRun: true, shouldContinue: true},
		"another label":    {spec: model.PodSpec{NodeSelector: ssd}},
		"another name":     {spec: model.PodSpec{NodeSelector: named}},
		"PreferNoSchedule": {taint: model.Taint{Key: "x", Effect: model.PreferNoSchedule}, shouldRun: true, shouldContinue: true},
		"NoSchedule":       {taint: model.Taint{Key: "x", Effect: model.NoSchedule}, shouldContinue: true},
		"NoExecute":        {taint: model.Taint{Key: "x", Effect: model.NoExecute}},
		"tolerated taint": {taint: model.Taint{Key: "x", Effect: model.NoExecute},
			spec: model.PodSpec{Tolerations: []model.Toleration{{Key: "x", Op: model.TolExists}}}, shouldRun: true, shouldContinue: true},
	} {
		n := &model.Node{Name: "a"}
		if tc.taint.Key != "" {
			n.Taints = []model.Taint{tc.taint}
		}
		if shouldRun, shouldContinue := NodeShouldRunDaemonPod(&tc.spec, n); shouldRun != tc.shouldRun || shouldContinue != tc.shouldContinue {
			t.Errorf("%s: should run %v, continue %v, want %v, %v", name, shouldRun, shouldContinue, tc.shouldRun, tc.shouldContinue)
		}
	}
}
