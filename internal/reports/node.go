package reports

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/settings"
)

// ExplainNode evaluates a node of objects.
func ExplainNode(loaded settings.Settings, objects []runtime.Object, name string) (*explain.NodeExplanation, error) {
	state, pods := snapshot(loaded, objects)
	profiles := map[string]*framework.Profile{}
	for _, c := range loaded.Profiles() {
		p, err := framework.NewProfile(c)
		if err != nil {
			return nil, err
		}
		profiles[c.Name] = p
	}
	profileOf := func(p *model.Pod) *framework.Profile { return profiles[p.Spec.SchedulerName] }
	explanation := explain.ExplainNode(state, profileOf, loaded.Berth.Scheduler.Seed, name, pods)
	if explanation == nil {
		return nil, fmt.Errorf("node %s: not found among %d nodes", name, state.NumNodes())
	}
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok && n.Name == name {
			for _, c := range n.Status.Conditions {
				explanation.Conditions = append(explanation.Conditions, explain.Condition{Type: string(c.Type), Status: string(c.Status),
					Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time})
			}
		}
	}
	return explanation, nil
}
