package config

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
)

// podStates lists the states that PodLifeTime accepts: pod phases, status reasons, and
// waiting and termination reasons of containers.
var podStates = []string{
	"Pending", "Running", "Succeeded", "Failed", "Unknown",
	"NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
	"PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
	"OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
}

type podLifeTimeArgs struct {
	metav1.TypeMeta              `json:",inline"`
	podFilterArgs                `json:",inline"`
	MaxPodLifeTimeSeconds        *int64             `json:"maxPodLifeTimeSeconds,omitempty"`
	States                       []string           `json:"states,omitempty"`
	Conditions                   []podConditionArgs `json:"conditions,omitempty"`
	ExitCodes                    []int32            `json:"exitCodes,omitempty"`
	OwnerKinds                   *includeExclude    `json:"ownerKinds,omitempty"`
	IncludingInitContainers      bool               `json:"includingInitContainers,omitempty"`
	IncludingEphemeralContainers bool               `json:"includingEphemeralContainers,omitempty"`
}

type podConditionArgs struct {
	Type                              string `json:"type,omitempty"`
	Status                            string `json:"status,omitempty"`
	Reason                            string `json:"reason,omitempty"`
	MinTimeSinceLastTransitionSeconds *int64 `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

func (r *pluginReader) podLifeTime() descheduling.Strategy {
	var a podLifeTimeArgs
	r.read(&a)
	if a.MaxPodLifeTimeSeconds == nil && len(a.States)+len(a.Conditions)+len(a.ExitCodes) == 0 && len(r.skipped) == 0 {
		r.errorf("%s: must have one of maxPodLifeTimeSeconds, states, conditions and exitCodes", r.path)
	}
	r.requireOneOf("states", a.States, podStates...)
	r.validateExitCodes(a.ExitCodes)
	kinds := r.namespaces("ownerKinds", a.OwnerKinds)
	out := &plugins.PodLifeTime{Scope: r.scope(&a.podFilterArgs), MaxAge: r.seconds("maxPodLifeTimeSeconds", a.MaxPodLifeTimeSeconds), States: a.States, ExitCodes: a.ExitCodes,
		OwnerKinds: kinds.Include, ExcludeOwnerKinds: kinds.Exclude, Init: a.IncludingInitContainers, Ephemeral: a.IncludingEphemeralContainers}
	for i, c := range a.Conditions {
		field := fmt.Sprintf("conditions[%d]", i)
		if c.Type == "" && c.Status == "" && c.Reason == "" && c.MinTimeSinceLastTransitionSeconds == nil {
			r.argErrorf("%s: must have one of type, status, reason and minTimeSinceLastTransitionSeconds", field)
		}
		age := r.seconds(field+".minTimeSinceLastTransitionSeconds", c.MinTimeSinceLastTransitionSeconds)
		out.Conditions = append(out.Conditions, plugins.ConditionFilter{Type: c.Type, Status: c.Status, Reason: c.Reason, MinAge: derefOr(age, 0)})
	}
	return out
}

const defaultMinPodLifetimeSeconds = 3600

type removeFailedPodsArgs struct {
	metav1.TypeMeta         `json:",inline"`
	podFilterArgs           `json:",inline"`
	ExcludeOwnerKinds       []string `json:"excludeOwnerKinds,omitempty"`
	MinPodLifetimeSeconds   *int64   `json:"minPodLifetimeSeconds,omitempty"`
	Reasons                 []string `json:"reasons,omitempty"`
	ExitCodes               []int32  `json:"exitCodes,omitempty"`
	IncludingInitContainers bool     `json:"includingInitContainers,omitempty"`
}

func (r *pluginReader) failedPods() descheduling.Strategy {
	var a removeFailedPodsArgs
	r.read(&a)
	r.validateExitCodes(a.ExitCodes)
	minAge := derefOr(a.MinPodLifetimeSeconds, defaultMinPodLifetimeSeconds)
	return &plugins.RemoveFailedPods{Scope: r.scope(&a.podFilterArgs), ExcludeOwnerKinds: r.requireNonEmpty("excludeOwnerKinds", a.ExcludeOwnerKinds, "a kind such as Job"),
		MinAge: r.seconds("minPodLifetimeSeconds", &minAge), Reasons: r.requireNonEmpty("reasons", a.Reasons, "a reason such as Evicted"), ExitCodes: a.ExitCodes, Init: a.IncludingInitContainers}
}

// validateExitCodes reports exit codes outside of 0 to 255.
func (r *pluginReader) validateExitCodes(list []int32) {
	for i, c := range list {
		if c < 0 || c > 255 {
			r.argErrorf("exitCodes[%d]: %d: must be between 0 and 255", i, c)
		}
	}
}
