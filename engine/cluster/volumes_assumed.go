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

// holder is a pod whose plan has a volume or a claim.
type holder struct {
	uid   string
	claim model.ClaimRef // of a volume's holder
	node  string         // of a claim's holder
	// seen: what the plan wants was reported, or something else was. From then on
	// reports alone count.
	seen bool
}

func byHolder(a, b holder) int { return cmp.Compare(a.uid, b.uid) }

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
		told, ok := v.reportedVolume(b.Volume.Name)
		if !ok {
			continue
		}
		v.toldPV.put(told.Name, told)
		h := holder{uid: pod.UID, seen: told.Claim != model.ClaimRef{},
			claim: model.ClaimRef{Namespace: b.Claim.Namespace, Name: b.Claim.Name, UID: b.Claim.UID}}
		putSorted(&v.volumeOf, told.Name, h, byHolder)
		s.putVolume(v.countedVolume(told))
	}
	for _, c := range plan.Provision {
		key := c.Namespace + "/" + c.Name
		told, ok := v.reportedClaim(key)
		if !ok {
			continue
		}
		v.toldPVC.put(key, told)
		putSorted(&v.claimOf, key, holder{uid: pod.UID, node: plan.Node, seen: settled(told)}, byHolder)
		v.claims.put(key, v.countedClaim(key, told))
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
		delSorted(&v.volumeOf, name, holder{uid: uid}, byHolder)
		if told, ok := v.toldPV.get(name); ok {
			s.putVolume(v.countedVolume(told))
		}
		if _, held := v.volumeOf.get(name); !held {
			v.toldPV.del(name)
		}
	}
	for _, c := range plan.Provision {
		key := c.Namespace + "/" + c.Name
		delSorted(&v.claimOf, key, holder{uid: uid}, byHolder)
		if told, ok := v.toldPVC.get(key); ok {
			v.claims.put(key, v.countedClaim(key, told))
		}
		if _, held := v.claimOf.get(key); !held {
			v.toldPVC.del(key)
		}
	}
}

// VolumePlan is the plan that is assumed for a pod; nil when there is none.
func (s *State) VolumePlan(uid string) *model.VolumePlan {
	plan, _ := s.volumes.plans.get(uid)
	return plan
}

// HoldsVolumes says whether something is taken by the pod's plan alone: it would be free
// if the plan were forgotten.
func (s *State) HoldsVolumes(uid string) bool {
	plan := s.VolumePlan(uid)
	if plan == nil {
		return false
	}
	mine := func(holders []holder) bool {
		return slices.ContainsFunc(holders, func(h holder) bool { return h.uid == uid && !h.seen })
	}
	for _, b := range plan.Bind {
		if holders, _ := s.volumes.volumeOf.get(b.Volume.Name); mine(holders) {
			return true
		}
	}
	for _, c := range plan.Provision {
		if holders, _ := s.volumes.claimOf.get(c.Namespace + "/" + c.Name); mine(holders) {
			return true
		}
	}
	return false
}

// VolumesReady says whether all claims of the pod's plan are bound, to volumes that
// are known. It is true for pods without a plan.
func (s *State) VolumesReady(pod *model.Pod) bool {
	plan := s.VolumePlan(pod.UID)
	return plan == nil || plan.All(func(c *model.PersistentVolumeClaim) bool {
		now, ok := s.PVC(c.Namespace, c.Name)
		if !ok || now.Volume == "" || !now.Bound {
			return false
		}
		_, ok = s.PV(now.Volume)
		return ok
	})
}

// VolumesLost says why the pod's plan cannot come to its end any more, so that
// waiting is in vain; empty while it can.
func (s *State) VolumesLost(pod *model.Pod) string {
	plan := s.VolumePlan(pod.UID)
	if plan == nil {
		return ""
	}
	why := ""
	plan.All(func(c *model.PersistentVolumeClaim) bool {
		why = s.claimLost(plan, c)
		return why == ""
	})
	return why
}

func (s *State) claimLost(plan *model.VolumePlan, c *model.PersistentVolumeClaim) string {
	now, ok := s.PVC(c.Namespace, c.Name)
	switch {
	case !ok || now.UID != c.UID:
		return fmt.Sprintf("persistentvolumeclaim %q is gone", c.Name)
	case now.Deleting:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", c.Name)
	case now.Lost:
		return fmt.Sprintf("persistentvolumeclaim %q lost its volume %q", c.Name, now.Volume)
	case now.Volume != "" && now.Bound:
		return s.boundElsewhere(plan.Node, now)
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
	if now.Volume == "" && (!now.HasNode || now.Node != plan.Node) {
		return fmt.Sprintf("persistentvolumeclaim %q is not to be provisioned for node %q any more: its selected node is %q", c.Name, plan.Node, now.Node)
	}
	return ""
}

// boundElsewhere says that a claim got a volume which the node does not reach.
func (s *State) boundElsewhere(node string, c *model.PersistentVolumeClaim) string {
	v, ok := s.PV(c.Volume)
	id, there := s.NodeID(node)
	if ok && there && !v.Affinity.Admits(s.nodes[id].Model) {
		return fmt.Sprintf("persistentvolumeclaim %q was bound to persistentvolume %q, which node %q does not reach", c.Name, v.Name, node)
	}
	return ""
}

// reportedVolume is a volume without what is assumed of it.
func (v *volumes) reportedVolume(name string) (*model.PersistentVolume, bool) {
	if told, ok := v.toldPV.get(name); ok {
		return told, true
	}
	return v.persistent.get(name)
}

func (v *volumes) reportedClaim(key string) (*model.PersistentVolumeClaim, bool) {
	if told, ok := v.toldPVC.get(key); ok {
		return told, true
	}
	return v.claims.get(key)
}

// volumeTold takes in the report of a volume and returns it as it counts.
func (v *volumes) volumeTold(told *model.PersistentVolume) *model.PersistentVolume {
	if _, held := v.volumeOf.get(told.Name); !held {
		return told
	}
	v.toldPV.put(told.Name, told)
	if told.Claim != (model.ClaimRef{}) {
		allSeen(&v.volumeOf, told.Name)
	}
	return v.countedVolume(told)
}

func (v *volumes) countedVolume(told *model.PersistentVolume) *model.PersistentVolume {
	holders, _ := v.volumeOf.get(told.Name)
	if i := slices.IndexFunc(holders, func(h holder) bool { return !h.seen }); i >= 0 && told.Claim == (model.ClaimRef{}) {
		taken := *told
		taken.Claim = holders[i].claim
		return &taken
	}
	return told
}

// settled says whether it is decided where a claim's volume is made, or which it is.
func settled(c *model.PersistentVolumeClaim) bool { return c.HasNode || c.Volume != "" }

// claimTold takes in the report of a claim and returns it as it counts.
func (v *volumes) claimTold(told *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	key := told.Namespace + "/" + told.Name
	if _, held := v.claimOf.get(key); !held {
		return told
	}
	v.toldPVC.put(key, told)
	if settled(told) {
		allSeen(&v.claimOf, key)
	}
	return v.countedClaim(key, told)
}

func (v *volumes) countedClaim(key string, told *model.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	holders, _ := v.claimOf.get(key)
	if i := slices.IndexFunc(holders, func(h holder) bool { return !h.seen }); i >= 0 && !settled(told) {
		chosen := *told
		chosen.HasNode, chosen.Node = true, holders[i].node
		return &chosen
	}
	return told
}

// volumeGone ends what was assumed of a volume that is gone.
func (v *volumes) volumeGone(name string) {
	v.toldPV.del(name)
	allSeen(&v.volumeOf, name)
}

func (v *volumes) claimGone(key string) {
	v.toldPVC.del(key)
	allSeen(&v.claimOf, key)
}

func allSeen(t *table[[]holder], key string) {
	holders, ok := t.get(key)
	if !ok {
		return
	}
	holders = slices.Clone(holders)
	for i := range holders {
		holders[i].seen = true
	}
	t.put(key, holders)
}
