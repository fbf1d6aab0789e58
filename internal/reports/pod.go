package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/settings"
)

// ExplainPod evaluates a pod of objects. It returns nil if the pod is missing and the journal
// has decisions about it.
func ExplainPod(loaded settings.Settings, objects []runtime.Object, name string, decisions []journal.Decision) (*explain.PodExplanation, error) {
	state, pods := snapshot(loaded, objects)
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.Key() == name })
	if i < 0 && len(decisions) > 0 {
		return nil, nil
	}
	if i < 0 {
		return nil, fmt.Errorf("pod %s: not found among %d pods%s", name, len(pods), otherNamespaces(pods, name))
	}
	profile, err := profileFor(loaded, pods[i])
	if err != nil {
		return nil, err
	}
	p := loaded.Berth.Scheduler.Preemption
	options := preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}
	explanation := explain.ExplainPod(state, profile, loaded.Berth.Scheduler.Seed, options, pods[i])
	explanation.ResizePreemption = loaded.Berth.Scheduler.InPlacePodVerticalScalingSchedulerPreemption
	explanation.Decisions, explanation.Problems = decisions, podProblems(FindPod(objects, pods[i].Namespace, pods[i].Name))
	explanation.Extenders = loaded.Scheduler.Extenders.AnyInterested(pods[i])
	return explanation, nil
}

// maxNamespaces is the maximum number of namespaces that an error lists.
const maxNamespaces = 3

// otherNamespaces returns a note that lists the namespaces of the pods with the same name, or "" if there is none. key
// is NAMESPACE/NAME.
func otherNamespaces(pods []*model.Pod, key string) string {
	_, name, _ := strings.Cut(key, "/")
	var namespaces []string
	for _, p := range pods {
		if p.Name == name {
			namespaces = append(namespaces, p.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return ""
	}
	slices.Sort(namespaces)
	note := "; namespaces with a pod of this name: " + strings.Join(namespaces[:min(len(namespaces), maxNamespaces)], ", ")
	if len(namespaces) > maxNamespaces {
		note += ", ..."
	}
	return note
}

// snapshot returns the cluster state of objects for the configured scheduler.
func snapshot(loaded settings.Settings, objects []runtime.Object) (*cluster.State, []*model.Pod) {
	var schedulers []string
	for _, c := range loaded.Profiles() {
		schedulers = append(schedulers, c.Name)
	}
	state, pods, _ := conversion.New().Snapshot(objects, schedulers...)
	state.ExpireHolds(time.Now())
	return state, pods
}

func profileFor(loaded settings.Settings, p *model.Pod) (*framework.Profile, error) {
	for _, c := range loaded.Profiles() {
		if c.Name == p.Spec.SchedulerName {
			return framework.NewProfile(c)
		}
	}
	var known []string
	for _, c := range loaded.Profiles() {
		known = append(known, c.Name)
	}
	return nil, fmt.Errorf("pod %s: spec.schedulerName %q: no profile of that name, only %s: pass with --config the KubeSchedulerConfiguration that the scheduler runs with",
		p.Key(), p.Spec.SchedulerName, strings.Join(known, ", "))
}
