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
	BetaZoneKey   = "failure-domain.beta.kubernetes.io/zone"
	betaRegionKey = "failure-domain.beta.kubernetes.io/region"
	regionKey     = "topology.kubernetes.io/region"
)

// volumeTopologyKeys are the labels that say where a volume is, with the label
// of a node that is as good.
var volumeTopologyKeys = [...][2]string{
	{BetaZoneKey, framework.ZoneKey}, {betaRegionKey, regionKey}, {framework.ZoneKey, framework.ZoneKey}, {regionKey, regionKey},
}

// volumeTopology is where a volume is: one of values of a label.
type volumeTopology struct {
	key, alias string // the label, and the one that a node may have instead
	values     []string
	volume     string
}

// volumeZone rejects nodes outside of the zones and regions that bound volumes
// are labelled with. Nodes that say nothing of where they are pass.
func volumeZone(ev *framework.Evaluation) framework.PreFilterState {
	var places []volumeTopology
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
		places = append(places, volumeTopologies(v)...)
	}
	if len(places) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(st *framework.CandidateNode) decision.Verdict { return filterZone(st.Node, places) }}
}

// unboundClaimError says what is wrong with a claim that has no volume; nothing if
// one will be found or made for it.
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

// volumeTopologies reads a volume's labels. Several zones are joined by "__"; a label
// with an empty one among them is not heeded.
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

func filterZone(n *model.Node, places []volumeTopology) decision.Verdict {
	placed := false
	for _, keys := range volumeTopologyKeys {
		if _, ok := n.Labels.Get(keys[0]); ok {
			placed = true
			break
		}
	}
	if !placed {
		return decision.Verdict{}
	}
	for i := range places {
		p := &places[i]
		value, ok := n.Labels.Get(p.key)
		if !ok {
			value, ok = n.Labels.Get(p.alias)
		}
		if !ok || !slices.Contains(p.values, value) {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonVolumeZone, Subject: p.key, Object: p.volume})
		}
	}
	return decision.Verdict{}
}
