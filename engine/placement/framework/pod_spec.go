package framework

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// TrackSelectors makes pod classes distinguish the labels that the selectors of a
// specification read.
func TrackSelectors(x *cluster.Index, s *model.PodSpec) {
	var keys []model.Requirement
	for i := range s.Spread {
		x.TrackSelector(s.Spread[i].Selector)
		for _, k := range s.Spread[i].MatchLabelKeys {
			keys = append(keys, model.Requirement{Key: k})
		}
	}
	for _, list := range [][]model.PodAffinityTerm{s.Affinity, s.AntiAffinity} {
		for i := range list {
			x.TrackSelector(list[i].Selector)
		}
	}
	for _, list := range [][]model.WeightedPodAffinityTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		for i := range list {
			x.TrackSelector(list[i].Term.Selector)
		}
	}
	x.TrackSelector(&model.Selector{Requirements: keys})
}

// SpreadingOwner returns the owner as default topology spreading reads it: without its
// UID, and zero for owners of other kinds.
func SpreadingOwner(pod *model.Pod) model.Owner {
	switch o := pod.Owner; o.Kind {
	case "ReplicationController", "ReplicaSet", "StatefulSet":
		o.UID = ""
		return o
	}
	return model.Owner{}
}

// HasVolumes reports whether a specification has volumes that the volume plugins read.
func HasVolumes(s *model.PodSpec) bool { return len(s.Claims)+len(s.Disks)+len(s.Inline) > 0 }
