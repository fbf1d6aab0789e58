package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Volumes and claims in the plan of a pod in flight count as used. A volume names the claim that it
// will be bound to, and a claim has the selected node. The state stores both the plans and the
// reported objects, so that the result is a function of the two.

// volumeHolder is a pod whose plan includes a volume or a claim.
type volumeHolder struct {
	uid   string
	claim model.ClaimRef // for volumes
	node  string         // for claims
	// reported is set once the volume is reported with any claim, or the claim with any node
	// or volume, or either as deleted. From then on only reports count.
	reported bool
}

func compareHolders(a, b volumeHolder) int { return cmp.Compare(a.uid, b.uid) }

// AssumeVolumes counts the plan of a pod in flight as executed: its volumes are not free,
// and its claims have their selected nodes. This ends for each volume when it is reported,
// and for all with ForgetVolumes, or when the pod is bound, finished, forgotten or
// deleted. A second plan replaces the first.
func (s *State) AssumeVolumes(pod *model.Pod, plan *model.VolumePlan) {
	s.ForgetVolumes(pod.UID)
	if plan == nil {
		return
	}
	s.revision++
	v := &s.volumes
	v.plans.put(pod.UID, plan)
	for _, b := range plan.Bind {
		reported, ok := v.reportedVolume(b.Volume.Name)
		if !ok {
			continue
		}
		v.reportedPVs.put(reported.Name, reported)
		h := volumeHolder{uid: pod.UID, reported: reported.Claim != model.ClaimRef{},
			claim: model.ClaimRef{Namespace: b.Claim.Namespace, Name: b.Claim.Name, UID: b.Claim.UID}}
		putSorted(&v.volumeHolders, reported.Name, h, compareHolders)
		s.putVolume(v.countedVolume(reported))
	}
	for _, c := range plan.Provision {
		key := c.Namespace + "/" + c.Name
		reported, ok := v.reportedClaim(key)
		if !ok {
			continue
		}
		v.reportedPVCs.put(key, reported)
		putSorted(&v.claimHolders, key, volumeHolder{uid: pod.UID, node: plan.Node, reported: hasPlacement(reported)}, compareHolders)
		v.claims.put(key, v.countedClaim(key, reported))
	}
}

// ForgetVolumes ends AssumeVolumes for a pod, which may free volumes. It does nothing for
// pods without a plan.
func (s *State) ForgetVolumes(uid string) {
	v := &s.volumes
	plan, ok := v.plans.get(uid)
	if !ok {
		return
	}
	s.revision++
	v.plans.del(uid)
	for _, b := range plan.Bind {
		name := b.Volume.Name
		delSorted(&v.volumeHolders, name, volumeHolder{uid: uid}, compareHolders)
		if reported, ok := v.reportedPVs.get(name); ok {
			s.putVolume(v.countedVolume(reported))
		}
		if _, ok := v.volumeHolders.get(name); !ok {
			v.reportedPVs.del(name)
		}
	}
	for _, c := range plan.Provision {
		key := c.Namespace + "/" + c.Name
		delSorted(&v.claimHolders, key, volumeHolder{uid: uid}, compareHolders)
		if reported, ok := v.reportedPVCs.get(key); ok {
			v.claims.put(key, v.countedClaim(key, reported))
		}
		if _, ok := v.claimHolders.get(key); !ok {
			v.reportedPVCs.del(key)
		}
	}
}

// VolumePlan returns the assumed plan of a pod; nil if there is none.
func (s *State) VolumePlan(uid string) *model.VolumePlan {
	plan, _ := s.volumes.plans.get(uid)
	return plan
}

// HasAssumedVolumes reports whether forgetting the pod's plan would free a volume or a
// claim.
func (s *State) HasAssumedVolumes(uid string) bool {
	plan := s.VolumePlan(uid)
	if plan == nil {
		return false
	}
	isHolder := func(holders []volumeHolder) bool {
		return slices.ContainsFunc(holders, func(h volumeHolder) bool { return h.uid == uid && !h.reported })
	}
	for _, b := range plan.Bind {
		if holders, _ := s.volumes.volumeHolders.get(b.Volume.Name); isHolder(holders) {
			return true
		}
	}
	for _, c := range plan.Provision {
		if holders, _ := s.volumes.claimHolders.get(c.Namespace + "/" + c.Name); isHolder(holders) {
			return true
		}
	}
	return false
}

// VolumesReady reports whether all claims of the pod's plan are bound to known volumes. It
// is true for pods without a plan.
func (s *State) VolumesReady(pod *model.Pod) bool {
	plan := s.VolumePlan(pod.UID)
	return plan == nil || plan.EveryClaim(func(c *model.PersistentVolumeClaim) bool {
		current, ok := s.PVC(c.Namespace, c.Name)
		if !ok || current.VolumeName == "" || !current.Bound {
			return false
		}
		_, ok = s.PV(current.VolumeName)
		return ok
	})
}

// VolumePlanError returns why the pod's plan can no longer complete; empty while it can.
func (s *State) VolumePlanError(pod *model.Pod) string {
	plan := s.VolumePlan(pod.UID)
	if plan == nil {
		return ""
	}
	reason := ""
	plan.EveryClaim(func(c *model.PersistentVolumeClaim) bool {
		reason = s.claimError(plan, c)
		return reason == ""
	})
	return reason
}

// claimError returns why a claim can no longer be bound as planned, or "".
func (s *State) claimError(plan *model.VolumePlan, c *model.PersistentVolumeClaim) string {
	current, ok := s.PVC(c.Namespace, c.Name)
	switch {
	case !ok || current.UID != c.UID:
		return fmt.Sprintf("persistentvolumeclaim %q was deleted", c.Name)
	case current.Deleting:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", c.Name)
	case current.Lost:
		return fmt.Sprintf("persistentvolumeclaim %q lost its volume %q", c.Name, current.VolumeName)
	case current.VolumeName != "" && current.Bound:
		return s.unreachableVolume(plan.Node, current)
	}
	for _, b := range plan.Bind {
		if b.Claim != c {
			continue
		}
		v, ok := s.PV(b.Volume.Name)
		switch {
		case !ok:
			return fmt.Sprintf("persistentvolume %q was deleted", b.Volume.Name)
		case v.Claim.Namespace != c.Namespace || v.Claim.Name != c.Name || v.Claim.UID != "" && v.Claim.UID != c.UID:
			return fmt.Sprintf("persistentvolume %q is no longer reserved for persistentvolumeclaim %q", v.Name, c.Name)
		}
		return ""
	}
	if current.VolumeName == "" && (!current.HasSelectedNode || current.SelectedNode != plan.Node) {
		return fmt.Sprintf("persistentvolumeclaim %q must no longer be provisioned for node %q: its selected node is %q", c.Name, plan.Node, current.SelectedNode)
	}
	return ""
}

// unreachableVolume returns an error text if a claim is bound to a volume that the node
// cannot use.
func (s *State) unreachableVolume(node string, c *model.PersistentVolumeClaim) string {
	v, ok := s.PV(c.VolumeName)
	id, found := s.NodeID(node)
	if ok && found && !v.Affinity.Matches(s.nodes[id].Model) {
		return fmt.Sprintf("persistentvolumeclaim %q was bound to persistentvolume %q, which is not accessible from node %q", c.Name, v.Name, node)
	}
	return ""
}

// reportedVolume returns a volume without assumptions.
func (v *volumes) reportedVolume(name string) (*model.PersistentVolume, bool) {
	if reported, ok := v.reportedPVs.get(name); ok {
		return reported, true
	}
	return v.persistent.get(name)
}

func (v *volumes) reportedClaim(key string) (*model.PersistentVolumeClaim, bool) {
	if reported, ok := v.reportedPVCs.get(key); ok {
		return reported, true
	}
	return v.claims.get(key)
}

// reportVolume returns a reported volume as placement reads it. If a plan includes the volume, it
// also stores the report.
func (v *volumes) reportVolume(reported *model.PersistentVolume) *model.PersistentVolume {
	if _, ok := v.volumeHolders.get(reported.Name); !ok {
		return reported
	}
	v.reportedPVs.put(reported.Name, reported)
	if reported.Claim != (model.ClaimRef{}) {
		markReported(&v.volumeHolders, reported.Name)
	}
	return v.countedVolume(reported)
}

// countedVolume returns a reported volume, with the claim of the first plan if the volume is free.
func (v *volumes) countedVolume(reported *model.PersistentVolume) *model.PersistentVolume {
	holders, _ := v.volumeHolders.get(reported.Name)
	if i := slices.IndexFunc(holders, func(h volumeHolder) bool { return !h.reported }); i >= 0 && reported.Claim == (model.ClaimRef{}) {
		assumed := *reported
		assumed.Claim = holders[i].claim
		return &assumed
	}
	return reported
}

// hasPlacement reports whether a claim has a selected node or a volume.
func hasPlacement(c *model.PersistentVolumeClaim) bool {
	return c.HasSelectedNode || c.VolumeName != ""
}

// reportClaim returns a reported claim as placement reads it. If a plan includes the claim, it also
// stores the report.
func (v *volumes) reportClaim(reported *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	key := reported.Namespace + "/" + reported.Name
	if _, ok := v.claimHolders.get(key); !ok {
		return reported
	}
	v.reportedPVCs.put(key, reported)
	if hasPlacement(reported) {
		markReported(&v.claimHolders, key)
	}
	return v.countedClaim(key, reported)
}

// countedClaim returns a reported claim, with the node of the first plan if the claim has no placement.
func (v *volumes) countedClaim(key string, reported *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	holders, _ := v.claimHolders.get(key)
	if i := slices.IndexFunc(holders, func(h volumeHolder) bool { return !h.reported }); i >= 0 && !hasPlacement(reported) {
		assumed := *reported
		assumed.HasSelectedNode, assumed.SelectedNode = true, holders[i].node
		return &assumed
	}
	return reported
}

// deleteVolume ends the assumptions about a deleted volume.
func (v *volumes) deleteVolume(name string) {
	v.reportedPVs.del(name)
	markReported(&v.volumeHolders, name)
}

func (v *volumes) deleteClaim(key string) {
	v.reportedPVCs.del(key)
	markReported(&v.claimHolders, key)
}

func markReported(t *cowMap[[]volumeHolder], key string) {
	holders, ok := t.get(key)
	if !ok {
		return
	}
	holders = slices.Clone(holders)
	for i := range holders {
		holders[i].reported = true
	}
	t.put(key, holders)
}
