package cluster

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// volumes are the volumes, claims and drivers of a State.
type volumes struct {
	persistent cowMap[*model.PersistentVolume]      // by name
	free       cowMap[[]*model.PersistentVolume]    // by class: volumes without a claim, sorted by name
	reserved   cowMap[[]*model.PersistentVolume]    // by "namespace/claim" of the claimRef, sorted by name
	claims     cowMap[*model.PersistentVolumeClaim] // by "namespace/name"
	classes    cowMap[*model.StorageClass]          // by name
	csiNodes   cowMap[*model.CSINode]               // by node name
	drivers    cowMap[*model.CSIDriver]             // by name
	capacities cowMap[[]*model.CSIStorageCapacity]  // by class, sorted by namespace and name
	// capacityClass is the class of a CSIStorageCapacity by "namespace/name".
	capacityClass cowMap[string]
	attached      cowMap[[]*model.VolumeAttachment] // by node, sorted by name
	attachedTo    cowMap[string]                    // node of an attachment by its name

	// Assumed plans; see volumes_assumed.go.
	plans         cowMap[*model.VolumePlan]            // by pod UID
	reportedPVs   cowMap[*model.PersistentVolume]      // volumes with holders, as the API reports them
	reportedPVCs  cowMap[*model.PersistentVolumeClaim] // claims with holders, as the API reports them
	volumeHolders cowMap[[]volumeHolder]               // by volume name, sorted by pod UID
	claimHolders  cowMap[[]volumeHolder]               // by "namespace/claim", sorted by pod UID
}

// fork returns an independent copy.
func (v *volumes) fork(oldOwner, newOwner *token) volumes {
	return volumes{
		persistent: v.persistent.fork(oldOwner, newOwner), free: v.free.fork(oldOwner, newOwner),
		reserved: v.reserved.fork(oldOwner, newOwner), claims: v.claims.fork(oldOwner, newOwner),
		classes: v.classes.fork(oldOwner, newOwner), csiNodes: v.csiNodes.fork(oldOwner, newOwner),
		drivers: v.drivers.fork(oldOwner, newOwner), capacities: v.capacities.fork(oldOwner, newOwner),
		capacityClass: v.capacityClass.fork(oldOwner, newOwner),
		attached:      v.attached.fork(oldOwner, newOwner), attachedTo: v.attachedTo.fork(oldOwner, newOwner),
		plans: v.plans.fork(oldOwner, newOwner), reportedPVs: v.reportedPVs.fork(oldOwner, newOwner), reportedPVCs: v.reportedPVCs.fork(oldOwner, newOwner),
		volumeHolders: v.volumeHolders.fork(oldOwner, newOwner), claimHolders: v.claimHolders.fork(oldOwner, newOwner),
	}
}

func byVolumeName(a, b *model.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) }

// PV returns a volume by name.
func (s *State) PV(name string) (*model.PersistentVolume, bool) {
	return s.volumes.persistent.get(name)
}

// FreeVolumes returns the volumes of a class without a claim, sorted by name. The slice
// must not be changed.
func (s *State) FreeVolumes(class string) []*model.PersistentVolume {
	list, _ := s.volumes.free.get(class)
	return list
}

// VolumesFor returns the volumes of any class whose claimRef names a claim, sorted by
// name. The slice must not be changed.
func (s *State) VolumesFor(namespace, claim string) []*model.PersistentVolume {
	list, _ := s.volumes.reserved.get(namespace + "/" + claim)
	return list
}

// UpsertPV adds or updates a PersistentVolume.
func (s *State) UpsertPV(v *model.PersistentVolume) {
	s.revision++
	s.putVolume(s.volumes.reportVolume(v))
}

// putVolume stores the version of a volume that placement reads: the reported one with assumed plans applied.
func (s *State) putVolume(v *model.PersistentVolume) {
	if old, ok := s.volumes.persistent.get(v.Name); ok {
		s.unlistVolume(old)
	}
	s.volumes.persistent.put(v.Name, v)
	list, key := s.volumes.listOf(v)
	putSorted(list, key, v, byVolumeName)
}

// RemovePV deletes a PersistentVolume.
func (s *State) RemovePV(name string) {
	old, ok := s.volumes.persistent.get(name)
	if !ok {
		return
	}
	s.revision++
	s.unlistVolume(old)
	s.volumes.persistent.del(name)
	s.volumes.deleteVolume(name)
}

func (s *State) unlistVolume(v *model.PersistentVolume) {
	list, key := s.volumes.listOf(v)
	delSorted(list, key, v, byVolumeName)
}

// listOf returns the map and the key of the list that a volume belongs to.
func (v *volumes) listOf(pv *model.PersistentVolume) (*cowMap[[]*model.PersistentVolume], string) {
	if pv.Claim == (model.ClaimRef{}) {
		return &v.free, pv.Class
	}
	return &v.reserved, pv.Claim.Namespace + "/" + pv.Claim.Name
}

// PVC returns a claim.
func (s *State) PVC(namespace, name string) (*model.PersistentVolumeClaim, bool) {
	return s.volumes.claims.get(namespace + "/" + name)
}

// UpsertPVC adds or updates a PersistentVolumeClaim.
func (s *State) UpsertPVC(c *model.PersistentVolumeClaim) {
	s.revision++
	s.volumes.claims.put(c.Namespace+"/"+c.Name, s.volumes.reportClaim(c))
}

// RemovePVC deletes a PersistentVolumeClaim.
func (s *State) RemovePVC(namespace, name string) {
	s.revision++
	s.volumes.claims.del(namespace + "/" + name)
	s.volumes.deleteClaim(namespace + "/" + name)
}

// StorageClass returns a class by name.
func (s *State) StorageClass(name string) (*model.StorageClass, bool) {
	return s.volumes.classes.get(name)
}

// UpsertStorageClass adds or updates a StorageClass.
func (s *State) UpsertStorageClass(c *model.StorageClass) {
	s.revision++
	s.volumes.classes.put(c.Name, c)
}

// RemoveStorageClass deletes a StorageClass.
func (s *State) RemoveStorageClass(name string) {
	s.revision++
	s.volumes.classes.del(name)
}

// putSorted inserts a value into a copy of the sorted list of a key.
func putSorted[V any](t *cowMap[[]V], key string, v V, order func(a, b V) int) {
	list, _ := t.get(key)
	i, found := slices.BinarySearchFunc(list, v, order)
	out := make([]V, 0, len(list)+1)
	out = append(append(out, list[:i]...), v)
	if found {
		i++
	}
	t.put(key, append(out, list[i:]...))
}

// delSorted deletes a value from a copy of the sorted list of a key.
func delSorted[V any](t *cowMap[[]V], key string, v V, order func(a, b V) int) {
	list, _ := t.get(key)
	i, found := slices.BinarySearchFunc(list, v, order)
	switch {
	case !found:
	case len(list) == 1:
		t.del(key)
	default:
		t.put(key, slices.Delete(slices.Clone(list), i, i+1))
	}
}
