package config

import (
	"fmt"

	"github.com/berthproject/berth/engine/rebalance"
)

// podStates are what PodLifeTime knows of states: phases, reasons of the status, and why containers wait or have ended.
var podStates = []string{
	"Pending", "Running", "Succeeded", "Failed", "Unknown",
	"NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
	"PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
	"OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
}

func (r *pluginReader) lifeTime() rebalance.Strategy {
	var a lifeTimeForm
	r.read(&a)
	if a.MaxPodLifeTimeSeconds == nil && len(a.States)+len(a.Conditions)+len(a.ExitCodes) == 0 && len(r.left) == 0 {
		r.add("%s: must have one of maxPodLifeTimeSeconds, states, conditions and exitCodes", r.path)
	}
	r.oneOf("states", a.States, podStates...)
	r.codes(a.ExitCodes)
	kinds := r.namespaces("ownerKinds", a.OwnerKinds)
	out := &rebalance.PodLifeTime{Scope: r.scope(&a.selectForm), MaxAge: r.seconds("maxPodLifeTimeSeconds", a.MaxPodLifeTimeSeconds), States: a.States, ExitCodes: a.ExitCodes,
		OwnerKinds: kinds.Include, ExcludeOwnerKinds: kinds.Exclude, Init: a.IncludingInitContainers, Ephemeral: a.IncludingEphemeralContainers}
	for i, c := range a.Conditions {
		at := fmt.Sprintf("conditions[%d]", i)
		if c.Type == "" && c.Status == "" && c.Reason == "" && c.MinTimeSinceLastTransitionSeconds == nil {
			r.fault("%s: must have one of type, status, reason and minTimeSinceLastTransitionSeconds", at)
		}
		age := r.seconds(at+".minTimeSinceLastTransitionSeconds", c.MinTimeSinceLastTransitionSeconds)
		out.Conditions = append(out.Conditions, rebalance.ConditionFilter{Type: c.Type, Status: c.Status, Reason: c.Reason, MinAge: or(age, 0)})
	}
	return out
}

// leastFailedAge is minPodLifetimeSeconds without being given.
const leastFailedAge = 3600

func (r *pluginReader) failed() rebalance.Strategy {
	var a failedForm
	r.read(&a)
	r.codes(a.ExitCodes)
	least := or(a.MinPodLifetimeSeconds, leastFailedAge)
	return &rebalance.RemoveFailedPods{Scope: r.scope(&a.selectForm), ExcludeOwnerKinds: r.given("excludeOwnerKinds", a.ExcludeOwnerKinds, "a kind such as Job"),
		MinAge: r.seconds("minPodLifetimeSeconds", &least), Reasons: r.given("reasons", a.Reasons, "a reason such as Evicted"), ExitCodes: a.ExitCodes, Init: a.IncludingInitContainers}
}

// codes demands exit codes that a process can have.
func (r *pluginReader) codes(list []int32) {
	for i, c := range list {
		if c < 0 || c > 255 {
			r.fault("exitCodes[%d]: %d: must be between 0 and 255", i, c)
		}
	}
}
