package scheduler

import (
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
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
	case scheduling.ReportDeferredResize:
		return e.Pod
	}
	return &model.Pod{}
}

// RequestKind returns the request kind of an effect.
func RequestKind(e scheduling.Effect) string {
	switch e.(type) {
	case scheduling.Bind:
		return sim.RequestBind
	case scheduling.ReportUnschedulable:
		return sim.RequestUnschedulable
	case scheduling.ReportGated:
		return sim.RequestHold
	case scheduling.RefreshPod:
		return sim.RequestRefresh
	case scheduling.Preempt:
		return sim.RequestPreempt
	case scheduling.ClearNomination:
		return sim.RequestClearNomination
	case scheduling.BindVolumes:
		return sim.RequestBindVolumes
	case scheduling.ReportBound:
		return "bound"
	case scheduling.ReportDeferredResize:
		return "deferredresize"
	}
	return "unknown"
}
