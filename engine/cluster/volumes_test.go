package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// referenceVolumes stores objects and recomputes every list.
type referenceVolumes struct {
	volumes     map[string]*model.PersistentVolume
	capacities  map[string]*model.CSIStorageCapacity
	attachments map[string]*model.VolumeAttachment
}

func (ref *referenceVolumes) clone() *referenceVolumes {
	return &referenceVolumes{maps.Clone(ref.volumes), maps.Clone(ref.capacities), maps.Clone(ref.attachments)}
}

// dump returns the results for classes, claims and nodes 0 to 2.
func (ref *referenceVolumes) dump() string {
	var b strings.Builder
	for i := range 3 {
		key := fmt.Sprint(i)
		for _, name := range slices.Sorted(maps.Keys(ref.volumes)) {
			v := ref.volumes[name]
			if v.Claim.Name == "" && v.Class == key {
				fmt.Fprintf(&b, "free %d %s %d\n", i, name, v.Capacity)
			}
			if v.Claim.Name == key {
				fmt.Fprintf(&b, "for %d %s %d\n", i, name, v.Capacity)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ref.capacities)) {
			if ref.capacities[name].Class == key {
				fmt.Fprintf(&b, "capacity %d %s\n", i, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(ref.attachments)) {
			if ref.attachments[name].Node == key {
				fmt.Fprintf(&b, "attached %d %s\n", i, name)
			}
		}
	}
	return b.String()
}

func (s *State) dumpVolumes() string {
	var b strings.Builder
	for i := range 3 {
		key := fmt.Sprint(i)
		volumes := append(slices.Clone(s.FreeVolumes(key)), s.VolumesFor("default", key)...)
		slices.SortFunc(volumes, byVolumeName)
		for _, v := range volumes {
			prefix := "for"
			if v.Claim.Name == "" {
				prefix = "free"
			}
			fmt.Fprintf(&b, "%s %d %s %d\n", prefix, i, v.Name, v.Capacity)
		}
		for _, c := range s.StorageCapacities(key) {
			fmt.Fprintf(&b, "capacity %d %s\n", i, c.Name)
		}
		for _, a := range s.VolumeAttachments(key) {
			fmt.Fprintf(&b, "attached %d %s\n", i, a.Name)
		}
	}
	return b.String()
}

// step applies one random change to the state and the reference.
func (ref *referenceVolumes) step(r *rand.Rand, s *State) {
	name, key := fmt.Sprintf("x%d", r.IntN(8)), fmt.Sprint(r.IntN(3))
	switch r.IntN(8) {
	case 0, 1, 2:
		v := &model.PersistentVolume{Name: name, Class: key, Capacity: r.Int64N(9)}
		if r.IntN(2) == 0 {
			v.Claim = model.ClaimRef{Namespace: "default", Name: fmt.Sprint(r.IntN(3))}
		}
		ref.volumes[name] = v
		s.UpsertPV(v)
	case 3:
		delete(ref.volumes, name)
		s.RemovePV(name)
	case 4:
		ref.capacities[name] = &model.CSIStorageCapacity{Namespace: "n", Name: name, Class: key}
		s.UpsertCSIStorageCapacity(ref.capacities[name])
	case 5:
		delete(ref.capacities, name)
		s.RemoveCSIStorageCapacity("n", name)
	case 6:
		ref.attachments[name] = &model.VolumeAttachment{Name: name, Node: key}
		s.UpsertVolumeAttachment(ref.attachments[name])
	case 7:
		delete(ref.attachments, name)
		s.RemoveVolumeAttachment(name)
	}
}

// TestVolumeListsAndForks compares random changes of forked states with a reference.
func TestVolumeListsAndForks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type pair struct {
		state *State
		ref   *referenceVolumes
	}
	pairs := []pair{{New(), &referenceVolumes{map[string]*model.PersistentVolume{}, map[string]*model.CSIStorageCapacity{}, map[string]*model.VolumeAttachment{}}}}
	for n := range 5000 {
		p := pairs[r.IntN(len(pairs))]
		if n%50 == 0 {
			f := pair{p.state.Fork(), p.ref.clone()}
			if len(pairs) < 4 {
				pairs = append(pairs, f)
			} else {
				pairs[r.IntN(4)] = f
			}
		}
		before := p.state.Revision()
		dump := p.state.dumpVolumes()
		p.ref.step(r, p.state)
		if got := p.state.dumpVolumes(); got != dump && p.state.Revision() == before {
			t.Fatalf("step %d: the state changed, but not its revision %d, want another one", n, before)
		}
		for i, p := range pairs {
			if got, want := p.state.dumpVolumes(), p.ref.dump(); got != want {
				t.Fatalf("step %d, pair %d:\n%s\nwant\n%s", n, i, got, want)
			}
		}
	}
}
