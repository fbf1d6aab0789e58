package remediation

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// applyVolume adds a claim, a volume or storage capacity.
func (c *Change) applyVolume(s *cluster.State, pod *model.Pod) {
	claim := model.PersistentVolumeClaim{Namespace: pod.Namespace, Name: c.Key, UID: "suggestion/" + c.Key, AccessModes: model.ReadWriteOnce}
	if old, ok := s.PVC(pod.Namespace, c.Key); ok {
		claim = *old
	}
	v := &model.PersistentVolume{Name: "suggestion-" + pod.Namespace + "-" + c.Key, Class: claim.ClassName(), Capacity: claim.Request,
		AccessModes: claim.AccessModes, Block: claim.Block, AttributesClass: claim.AttributesClass, Phase: "Available",
		Claim: model.ClaimRef{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}}
	switch c.Kind {
	case AddStorageCapacity:
		amount := c.Amount
		s.UpsertCSIStorageCapacity(&model.CSIStorageCapacity{Name: "suggestion-" + c.Node, Class: c.Value,
			Topology: hostSelector(s, c.Node), Capacity: &amount})
		return
	case AddVolume:
		named := model.Requirement{Key: "metadata.name", Op: model.In, Values: []string{c.Node}}
		v.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Fields: []model.Requirement{named}}}}
	case CreateClaim:
		for i := range pod.Spec.Claims {
			if k := &pod.Spec.Claims[i]; k.Ephemeral && k.Claim == c.Key {
				claim.Owner = model.Owner{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
			}
		}
	}
	s.UpsertPV(v)
	if c.Kind != AddVolume {
		claim.VolumeName, claim.Bound = v.Name, true
		s.UpsertPVC(&claim)
	}
}

// hostSelector selects a node by its hostname label, or all nodes if it has none.
func hostSelector(s *cluster.State, node string) *model.Selector {
	if id, ok := s.NodeID(node); ok {
		if host, ok := s.Node(id).Model.Labels.Get(framework.HostnameKey); ok {
			return &model.Selector{Requirements: []model.Requirement{{Key: framework.HostnameKey, Op: model.In, Values: []string{host}}}}
		}
	}
	return &model.Selector{}
}

// claimChanges resolves the rejection of a pod for its claims: missing claims are created, and
// claims that wait for an external volume are bound.
func (f *finder) claimChanges() [][]Change {
	var step []Change
	for i := range f.pod.Spec.Claims {
		name := f.pod.Spec.Claims[i].Claim
		claim, ok := f.state.PVC(f.pod.Namespace, name)
		switch {
		case !ok:
			step = append(step, Change{Kind: CreateClaim, Key: name})
		case claim.Lost || claim.Deleting || claim.VolumeName != "" && claim.Bound:
		default:
			class, found := f.state.StorageClass(claim.ClassName())
			if !found || !class.WaitForFirstConsumer || claim.VolumeName != "" {
				step = append(step, Change{Kind: BindClaim, Key: name})
			}
		}
	}
	if len(step) == 0 {
		return nil
	}
	return [][]Change{step}
}

// storageChanges resolves a node's verdict on a claim or driver.
func (f *finder) storageChanges(node string, r *decision.Reason) [][]Change {
	switch r.Kind {
	case decision.ReasonDriverMissing:
		return single(Change{Kind: InstallDriver, Node: node, Key: r.Subject})
	case decision.ReasonNoVolumeToBind, decision.ReasonNoStorage:
		claim, ok := f.state.PVC(f.pod.Namespace, r.Subject)
		if !ok || claim.HasSelectedNode {
			return nil
		}
		out := single(Change{Kind: AddVolume, Node: node, Key: claim.Name, Value: claim.ClassName(), Amount: claim.Request})
		if r.Kind == decision.ReasonNoStorage {
			out = append(out, []Change{{Kind: AddStorageCapacity, Node: node, Key: claim.Name, Value: claim.ClassName(), Amount: claim.Request}})
		}
		return out
	}
	return nil
}
