package evacuation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// DrainOptions correspond to the flags of kubectl drain.
type DrainOptions struct {
	// IgnoreDaemonSets skips DaemonSet pods; otherwise they are an error.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData allows the eviction of pods with an emptyDir, whose data is lost; otherwise they are an error.
	DeleteEmptyDirData bool
	// Force allows the eviction of pods without a controller; otherwise they are an error.
	Force bool
	// Selector skips pods that it does not match; nil matches all.
	Selector *model.Selector
	// Surge temporarily adds a replica to owners whose budget allows no disruption.
	Surge bool
}

// Unschedulable is the taint of a cordoned node.
var Unschedulable = model.Taint{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}

// toleratesCordon reports whether p can be scheduled to a cordoned node.
func toleratesCordon(p *model.Pod) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t model.Toleration) bool { return t.ToleratesTaint(&Unschedulable, false) })
}

// SkipReason is why a drain does not evict a pod.
type SkipReason string

// The reasons.
const (
	SkipDaemonSet SkipReason = "DaemonSet"   // its controller would replace it on the same node
	SkipStaticPod SkipReason = "static pod"  // its node runs it regardless of the API
	SkipSelector  SkipReason = "not matched" // by --pod-selector
	NotSkipped    SkipReason = ""
)

// skipReason returns why a pod is skipped.
func (o *DrainOptions) skipReason(p *model.Pod) SkipReason {
	switch {
	case p.Mirror:
		return SkipStaticPod
	case o.Selector != nil && !o.Selector.Matches(p.Labels):
		return SkipSelector
	case p.Owner.Kind == "DaemonSet":
		return SkipDaemonSet
	}
	return NotSkipped
}

// missingFlag returns the flag that is required to evict a pod, or "".
func (o *DrainOptions) missingFlag(p *model.Pod) string {
	switch s := o.skipReason(p); {
	case s == SkipDaemonSet && !o.IgnoreDaemonSets:
		return "--ignore-daemonsets"
	case s != NotSkipped:
		return ""
	case p.Owner == (model.Owner{}) && !o.Force:
		return "--force"
	case p.HasEmptyDir && !o.DeleteEmptyDirData:
		return "--delete-emptydir-data"
	}
	return ""
}

// flagMessages describes the pods that are an error without a flag.
var flagMessages = map[string]string{
	"--ignore-daemonsets":    "DaemonSet pods, which --ignore-daemonsets skips",
	"--force":                "pods without a controller, which are not replaced; --force evicts them",
	"--delete-emptydir-data": "pods with an emptyDir, whose data is lost; --delete-emptydir-data evicts them",
}

// Check returns an error that lists missing nodes and the pods that the options do not allow to evict.
func (o *DrainOptions) Check(v *View, nodes []string) error {
	var errs []error
	refused := map[string][]string{}
	for _, n := range nodes {
		if _, ok := v.State.NodeID(n); !ok {
			errs = append(errs, fmt.Errorf("node %s: not found among %d nodes", n, v.State.NumNodes()))
			continue
		}
		for _, p := range v.PodsOn(n) {
			if flag := o.missingFlag(p); flag != "" {
				refused[flag] = append(refused[flag], p.Key())
			}
		}
	}
	for _, flag := range []string{"--ignore-daemonsets", "--force", "--delete-emptydir-data"} {
		if pods := refused[flag]; len(pods) > 0 {
			errs = append(errs, fmt.Errorf("%s: %s", flagMessages[flag], strings.Join(pods, ", ")))
		}
	}
	return errors.Join(errs...)
}
