package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// What pods in flight are about to take counts as taken: a volume names the
// claim that it is to be bound to, a claim the node that it is to be provisioned for.
// Both the plans and what was reported are kept, so that what counts is a function of them.

// volumeHolder is a pod whose plan has a volume or a claim.
type volumeHolder struct {
	uid   string
	claim model.ClaimRef // of a volume's holder
	node  string         // of a claim's holder
	// reported: what the plan wants was reported, or something else was. From then on
	// reports alone count.
	reported bool
}

func compareHolders(a, b volumeHolder) int { return cmp.Compare(a.uid, b.uid) }

// AssumeVolumes counts the plan of a pod in flight as carried out: its volumes are
// not free any more, and its claims are bound to their nodes. That ends volume by
// volume as reports come in, and as a whole by ForgetVolumes, or when the pod is seen
// bound, is finished, is forgotten or gone. A second plan of the pod replaces the first.
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
		putSorted(&v.claimHolders, key, volumeHolder{uid: pod.UID, node: plan.Node, reported: placementKnown(reported)}, compareHolders)
		v.claims.put(key, v.countedClaim(key, reported))
	}
}

// ForgetVolumes ends what AssumeVolumes began for a pod. Volumes may be free then
// that were not before. It does nothing for pods without a plan.
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
		if _, held := v.volumeHolders.get(name); !held {
			v.reportedPVs.del(name)
		}
	}
	for _, c := range plan.Provision {
		key := c.Namespace + "/" + c.Name
		delSorted(&v.claimHolders, key, volumeHolder{uid: uid}, compareHolders)
		if reported, ok := v.reportedPVCs.get(key); ok {
			v.claims.put(key, v.countedClaim(key, reported))
		}
		if _, held := v.claimHolders.get(key); !held {
			v.reportedPVCs.del(key)
		}
	}
}

// VolumePlan is the plan that is assumed for a pod; nil when there is none.
func (s *State) VolumePlan(uid string) *model.VolumePlan {
	plan, _ := s.volumes.plans.get(uid)
	return plan
}

// HasAssumedVolumes says whether something is taken by the pod's plan alone: it would be free
// if the plan were forgotten.
func (s *State) HasAssumedVolumes(uid string) bool {
	plan := s.VolumePlan(uid)
	if plan == nil {
		return false
	}
	mine := func(holders []volumeHolder) bool {
		return slices.ContainsFunc(holders, func(h volumeHolder) bool { return h.uid == uid && !h.reported })
	}
	for _, b := range plan.Bind {
		if holders, _ := s.volumes.volumeHolders.get(b.Volume.Name); mine(holders) {
			return true
		}
	}
	for _, c := range plan.Provision {
		if holders, _ := s.volumes.claimHolders.get(c.Namespace + "/" + c.Name); mine(holders) {
			return true
		}
	}
	return false
}

// VolumesReady says whether all claims of the pod's plan are bound, to volumes that
// are known. It is true for pods without a plan.
func (s *State) VolumesReady(pod *model.Pod) bool {
	plan := s.VolumePlan(pod.UID)
	return plan == nil || plan.EveryClaim(func(c *model.PersistentVolumeClaim) bool {
		now, ok := s.PVC(c.Namespace, c.Name)
		if !ok || now.VolumeName == "" || !now.Bound {
			return false
		}
		_, ok = s.PV(now.VolumeName)
		return ok
	})
}

// VolumePlanError says why the pod's plan cannot come to its end any more, so that
// waiting is in vain; empty while it can.
func (s *State) VolumePlanError(pod *model.Pod) string {
	plan := s.VolumePlan(pod.UID)
	if plan == nil {
		return ""
	}
	why := ""
	plan.EveryClaim(func(c *model.PersistentVolumeClaim) bool {
		why = s.claimError(plan, c)
		return why == ""
	})
	return why
}

func (s *State) claimError(plan *model.VolumePlan, c *model.PersistentVolumeClaim) string {
	now, ok := s.PVC(c.Namespace, c.Name)
	switch {
	case !ok || now.UID != c.UID:
		return fmt.Sprintf("persistentvolumeclaim %q is gone", c.Name)
	case now.Deleting:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", c.Name)
	case now.Lost:
		return fmt.Sprintf("persistentvolumeclaim %q lost its volume %q", c.Name, now.VolumeName)
	case now.VolumeName != "" && now.Bound:
		return s.unreachableVolume(plan.Node, now)
	}
	for _, b := range plan.Bind {
		if b.Claim != c {
			continue
		}
		v, ok := s.PV(b.Volume.Name)
		switch {
		case !ok:
			return fmt.Sprintf("persistentvolume %q is gone", b.Volume.Name)
		case v.Claim.Namespace != c.Namespace || v.Claim.Name != c.Name || v.Claim.UID != "" && v.Claim.UID != c.UID:
			return fmt.Sprintf("persistentvolume %q is not reserved for persistentvolumeclaim %q any more", v.Name, c.Name)
		}
		return ""
	}
	if now.VolumeName == "" && (!now.HasSelectedNode || now.SelectedNode != plan.Node) {
		return fmt.Sprintf("persistentvolumeclaim %q is not to be provisioned for node %q any more: its selected node is %q", c.Name, plan.Node, now.SelectedNode)
	}
	return ""
}

// unreachableVolume says that a claim got a volume which the node does not reach.
func (s *State) unreachableVolume(node string, c *model.PersistentVolumeClaim) string {
	v, ok := s.PV(c.VolumeName)
	id, there := s.NodeID(node)
	if ok && there && !v.Affinity.Matches(s.nodes[id].Model) {
		return fmt.Sprintf("persistentvolumeclaim %q was bound to persistentvolume %q, which node %q does not reach", c.Name, v.Name, node)
	}
	return ""
}

// reportedVolume is a volume without what is assumed of it.
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

// reportVolume takes in the report of a volume and returns it as it counts.
func (v *volumes) reportVolume(reported *model.PersistentVolume) *model.PersistentVolume {
	if _, held := v.volumeHolders.get(reported.Name); !held {
		return reported
	}
	v.reportedPVs.put(reported.Name, reported)
	if reported.Claim != (model.ClaimRef{}) {
		markReported(&v.volumeHolders, reported.Name)
	}
	return v.countedVolume(reported)
}

func (v *volumes) countedVolume(reported *model.PersistentVolume) *model.PersistentVolume {
	holders, _ := v.volumeHolders.get(reported.Name)
	if i := slices.IndexFunc(holders, func(h volumeHolder) bool { return !h.reported }); i >= 0 && reported.Claim == (model.ClaimRef{}) {
		taken := *reported
		taken.Claim = holders[i].claim
		return &taken
	}
	return reported
}

// placementKnown says whether it is decided where a claim's volume is made, or which it is.
func placementKnown(c *model.PersistentVolumeClaim) bool {
	return c.HasSelectedNode || c.VolumeName != ""
}

// reportClaim takes in the report of a claim and returns it as it counts.
func (v *volumes) reportClaim(reported *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	key := reported.Namespace + "/" + reported.Name
	if _, held := v.claimHolders.get(key); !held {
		return reported
	}
	v.reportedPVCs.put(key, reported)
	if placementKnown(reported) {
		markReported(&v.claimHolders, key)
	}
	return v.countedClaim(key, reported)
}

func (v *volumes) countedClaim(key string, reported *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	holders, _ := v.claimHolders.get(key)
	if i := slices.IndexFunc(holders, func(h volumeHolder) bool { return !h.reported }); i >= 0 && !placementKnown(reported) {
		chosen := *reported
		chosen.HasSelectedNode, chosen.SelectedNode = true, holders[i].node
		return &chosen
	}
	return reported
}

// deleteVolume ends what was assumed of a volume that is gone.
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
