package scheduler

import (
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// PodOf returns the pod of an effect.
func PodOf(e scheduling.Effect) *model.Pod {
	switch e := e.(type) {
	case scheduling.Bind:
		return e.Pod
	case scheduling.ReportUnschedulable:
		return e.Pod
	case scheduling.ReportGated:
		return e.Pod
	case scheduling.RefreshPod:
		return e.Pod
	case scheduling.Preempt:
		return e.Pod
	case scheduling.ClearNomination:
		return e.Pod
	case scheduling.BindVolumes:
		return e.Pod
	case scheduling.ReportBound:
		return e.Pod
	}
	return &model.Pod{}
}

// RequestKind returns the name of an effect in scenarios and timelines.
func RequestKind(e scheduling.Effect) string {
	switch e.(type) {
	case scheduling.Bind:
		return "bind"
	case scheduling.ReportUnschedulable:
		return "reject"
	case scheduling.ReportGated:
		return "hold"
	case scheduling.RefreshPod:
		return "look"
	case scheduling.Preempt:
		return "preempt"
	case scheduling.ClearNomination:
		return "unnominate"
	case scheduling.BindVolumes:
		return "prepare"
	case scheduling.ReportBound:
		return "bound"
	}
	return "unknown"
}
