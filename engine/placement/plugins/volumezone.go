package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

const (
	// BetaZoneKey is the deprecated zone label.
	BetaZoneKey   = "failure-domain.beta.kubernetes.io/zone"
	betaRegionKey = "failure-domain.beta.kubernetes.io/region"
	regionKey     = "topology.kubernetes.io/region"
)

// volumeTopologyKeys are the topology labels of volumes with the equivalent label of
// nodes.
var volumeTopologyKeys = [...][2]string{
	{BetaZoneKey, framework.ZoneKey}, {betaRegionKey, regionKey}, {framework.ZoneKey, framework.ZoneKey}, {regionKey, regionKey},
}

// volumeTopology is a topology label of a volume with its values.
type volumeTopology struct {
	key, alias string // label, and the equivalent label of nodes
	values     []string
	volume     string
}

// volumeZone rejects nodes outside of the zones and regions of bound volumes. Nodes
// without topology labels pass.
func volumeZone(ev *framework.Evaluation) framework.PreFilterState {
	var topologies []volumeTopology
	for i := range ev.Pod.Spec.Claims {
		c := &ev.Pod.Spec.Claims[i]
		if c.Ephemeral {
			continue
		}
		claim, ok := ev.State.PVC(ev.Pod.Namespace, c.Claim)
		if !ok {
			return rejectAllNodes(notFoundMessage(c.Claim))
		}
		if claim.VolumeName == "" {
			if text := unboundClaimError(ev, claim); text != "" {
				return rejectAllNodes(text)
			}
			continue
		}
		v, ok := ev.State.PV(claim.VolumeName)
		if !ok {
			return rejectAllNodes(fmt.Sprintf("persistentvolume %q not found", claim.VolumeName))
		}
		topologies = append(topologies, volumeTopologies(v)...)
	}
	if len(topologies) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		return filterZone(candidate.Node, topologies)
	}}
}

// unboundClaimError returns why a claim without a volume is invalid; empty if it waits for
// its first consumer.
func unboundClaimError(ev *framework.Evaluation, claim *model.PersistentVolumeClaim) string {
	name := claim.ClassName()
	if name == "" {
		return "PersistentVolumeClaim had no pv name and storageClass name"
	}
	class, ok := ev.State.StorageClass(name)
	switch {
	case !ok:
		return fmt.Sprintf("storageclass.storage.k8s.io %q not found", name)
	case !class.WaitForFirstConsumer:
		return "PersistentVolume had no name"
	}
	return ""
}

// volumeTopologies returns the topology labels of a volume. Several zones are separated by
// "__"; a label with an empty zone is ignored.
func volumeTopologies(v *model.PersistentVolume) []volumeTopology {
	var out []volumeTopology
	for _, keys := range volumeTopologyKeys {
		value, ok := v.Labels.Get(keys[0])
		if !ok {
			continue
		}
		values := strings.Split(value, "__")
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		if slices.Contains(values, "") {
			continue
		}
		out = append(out, volumeTopology{key: keys[0], alias: keys[1], values: values, volume: v.Name})
	}
	return out
}

func filterZone(n *model.Node, topologies []volumeTopology) decision.Verdict {
	hasTopology := false
	for _, keys := range volumeTopologyKeys {
		if _, ok := n.Labels.Get(keys[0]); ok {
			hasTopology = true
			break
		}
	}
	if !hasTopology {
		return decision.Verdict{}
	}
	for i := range topologies {
		t := &topologies[i]
		value, ok := n.Labels.Get(t.key)
		if !ok {
			value, ok = n.Labels.Get(t.alias)
		}
		if !ok || !slices.Contains(t.values, value) {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonVolumeZone, Subject: t.key, Object: t.volume})
		}
	}
	return decision.Verdict{}
}
