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

// referenceVolumePlans stores reports and plans, and recomputes which of them apply.
type referenceVolumePlans struct {
	volumes        map[string]model.ClaimRef // as reported
	claims         map[string]string         // as reported: the selected node
	assumedVolumes map[string]model.ClaimRef // by "pod volume": assumed and not reported since
	assumedClaims  map[string]string         // by "pod claim": the same
}

func newReferenceVolumePlans() *referenceVolumePlans {
	return &referenceVolumePlans{map[string]model.ClaimRef{}, map[string]string{}, map[string]model.ClaimRef{}, map[string]string{}}
}

func (plans *referenceVolumePlans) clone() *referenceVolumePlans {
	return &referenceVolumePlans{maps.Clone(plans.volumes), maps.Clone(plans.claims), maps.Clone(plans.assumedVolumes), maps.Clone(plans.assumedClaims)}
}

// dropAssumptions drops the assumptions about a reported or deleted object.
func dropAssumptions[V any](assumed map[string]V, object string) {
	maps.DeleteFunc(assumed, func(k string, _ V) bool { return strings.HasSuffix(k, " "+object) })
}

func (plans *referenceVolumePlans) forget(pod string) {
	isOfPod := func(k string) bool { return strings.HasPrefix(k, pod+" ") }
	maps.DeleteFunc(plans.assumedVolumes, func(k string, _ model.ClaimRef) bool { return isOfPod(k) })
	maps.DeleteFunc(plans.assumedClaims, func(k string, _ string) bool { return isOfPod(k) })
}

// firstAssumption returns the assumption about an object of the first pod by UID.
func firstAssumption[V any](assumed map[string]V, object string) (v V) {
	for _, k := range slices.Sorted(maps.Keys(assumed)) {
		if strings.HasSuffix(k, " "+object) {
			return assumed[k]
		}
	}
	return v
}

func (plans *referenceVolumePlans) dump() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(plans.volumes)) {
		ref := plans.volumes[name]
		if ref.Name == "" {
			ref = firstAssumption(plans.assumedVolumes, name)
		}
		fmt.Fprintf(&b, "volume %s %v\n", name, ref)
	}
	for _, name := range slices.Sorted(maps.Keys(plans.claims)) {
		node := plans.claims[name]
		if node == "" {
			node = firstAssumption(plans.assumedClaims, name)
		}
		fmt.Fprintf(&b, "claim %s %q\n", name, node)
	}
	for i := range 3 {
		isOfPod := func(k string) bool { return strings.HasPrefix(k, fmt.Sprint("u", i, " ")) }
		fmt.Fprintf(&b, "u%d holds %v\n", i, slices.ContainsFunc(slices.Collect(maps.Keys(plans.assumedVolumes)), isOfPod) || slices.ContainsFunc(slices.Collect(maps.Keys(plans.assumedClaims)), isOfPod))
	}
	return b.String()
}

func (s *State) dumpAssumed(t *testing.T) string {
	var b strings.Builder
	for i := range 4 {
		v, ok := s.PV(fmt.Sprint("v", i))
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "volume %s %v\n", v.Name, v.Claim)
		if listed := slices.Contains(s.FreeVolumes(v.Class), v); listed != (v.Claim.Name == "") {
			t.Errorf("%s with claim %q is listed as free: %t, want %t", v.Name, v.Claim.Name, listed, !listed)
		}
		if v.Claim.Name != "" && !slices.Contains(s.VolumesFor(v.Claim.Namespace, v.Claim.Name), v) {
			t.Errorf("%s is not listed for its claim %s, want it listed", v.Name, v.Claim.Name)
		}
	}
	for i := range 4 {
		if c, ok := s.PVC("x", fmt.Sprint("c", i)); ok {
			fmt.Fprintf(&b, "claim %s %q\n", c.Name, c.SelectedNode)
		}
	}
	for i := range 3 {
		fmt.Fprintf(&b, "u%d holds %v\n", i, s.HasAssumedVolumes(fmt.Sprint("u", i)))
	}
	return b.String()
}

// step applies one random change to the state and the reference.
func (plans *referenceVolumePlans) step(r *rand.Rand, s *State) {
	volume, claim := fmt.Sprint("v", r.IntN(4)), fmt.Sprint("c", r.IntN(4))
	pod := &model.Pod{Namespace: "x", Name: "p", UID: fmt.Sprint("u", r.IntN(3)), Spec: &model.PodSpec{}}
	switch r.IntN(9) {
	case 0, 1:
		ref := model.ClaimRef{}
		if r.IntN(3) == 0 {
			ref = model.ClaimRef{Namespace: "x", Name: claim, UID: claim}
			dropAssumptions(plans.assumedVolumes, volume)
		}
		plans.volumes[volume] = ref
		s.UpsertPV(&model.PersistentVolume{Name: volume, Claim: ref})
	case 2, 3:
		node := ""
		if r.IntN(3) == 0 {
			node = "n1"
			dropAssumptions(plans.assumedClaims, claim)
		}
		plans.claims[claim] = node
		s.UpsertPVC(&model.PersistentVolumeClaim{Namespace: "x", Name: claim, UID: claim, HasSelectedNode: node != "", SelectedNode: node})
	case 4:
		delete(plans.volumes, volume)
		dropAssumptions(plans.assumedVolumes, volume)
		s.RemovePV(volume)
	case 5:
		delete(plans.claims, claim)
		dropAssumptions(plans.assumedClaims, claim)
		s.RemovePVC("x", claim)
	case 6, 7:
		plans.assume(r, s, pod)
	case 8:
		plans.forget(pod.UID)
		switch r.IntN(4) {
		case 0:
			s.RemovePod(pod.UID)
		case 1:
			s.Forget(pod.UID)
		case 2:
			pod.NodeName = "n1"
			s.UpsertPod(pod)
		case 3:
			s.ForgetVolumes(pod.UID)
		}
	}
}

func (plans *referenceVolumePlans) assume(r *rand.Rand, s *State, pod *model.Pod) {
	plans.forget(pod.UID)
	plan := &model.VolumePlan{Node: fmt.Sprint("n", r.IntN(2))}
	for i := range 4 {
		c := &model.PersistentVolumeClaim{Namespace: "x", Name: fmt.Sprint("c", i), UID: fmt.Sprint("c", i)}
		name := fmt.Sprint("v", r.IntN(4))
		switch exists := slices.ContainsFunc(plan.Bind, func(b model.ClaimVolume) bool { return b.Volume.Name == name }); {
		case r.IntN(3) == 0 && !exists:
			plan.Bind = append(plan.Bind, model.ClaimVolume{Claim: c, Volume: &model.PersistentVolume{Name: name}})
			if ref, ok := plans.volumes[name]; ok && ref.Name == "" {
				plans.assumedVolumes[pod.UID+" "+name] = model.ClaimRef{Namespace: "x", Name: c.Name, UID: c.UID}
			}
		case r.IntN(3) == 0:
			plan.Provision = append(plan.Provision, c)
			if node, ok := plans.claims[c.Name]; ok && node == "" {
				plans.assumedClaims[pod.UID+" "+c.Name] = plan.Node
			}
		}
	}
	s.AssumeVolumes(pod, plan)
}

// TestAssumedVolumesAndForks compares random changes of forked states with a reference.
func TestAssumedVolumesAndForks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	type pair struct {
		state *State
		ref   *referenceVolumePlans
	}
	pairs := []pair{{New(), newReferenceVolumePlans()}}
	for n := range rounds(5000) {
		p := pairs[r.IntN(len(pairs))]
		if n%50 == 0 {
			f := pair{p.state.Fork(), p.ref.clone()}
			if len(pairs) < 4 {
				pairs = append(pairs, f)
			} else {
				pairs[r.IntN(4)] = f
			}
		}
		before, dump := p.state.Revision(), p.state.dumpAssumed(t)
		p.ref.step(r, p.state)
		if got := p.state.dumpAssumed(t); got != dump && p.state.Revision() == before {
			t.Fatalf("step %d: the state changed, but not its revision %d, want another one", n, before)
		}
		for i, p := range pairs {
			if got, want := p.state.dumpAssumed(t), p.ref.dump(); got != want {
				t.Fatalf("step %d, pair %d:\n%s\nwant\n%s", n, i, got, want)
			}
		}
	}
}

func TestVolumePlanCompletion(t *testing.T) {
	claim := func(change func(*model.PersistentVolumeClaim)) *model.PersistentVolumeClaim {
		c := &model.PersistentVolumeClaim{Namespace: "x", Name: "c", UID: "c"}
		change(c)
		return c
	}
	unchanged := func(*model.PersistentVolumeClaim) {}
	affinity := func(node string) *model.VolumeNodeAffinity {
		return &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: "host", Op: model.In, Values: []string{node}}}}}}
	}
	ref := model.ClaimRef{Namespace: "x", Name: "c", UID: "c"}
	bound := claim(func(c *model.PersistentVolumeClaim) { c.VolumeName, c.Bound = "v", true })
	for name, tc := range map[string]struct {
		change    func(*State)
		ready     bool
		err       string
		provision bool // the plan provisions a volume
	}{
		"unbound":  {func(s *State) {}, false, "", false},
		"reserved": {func(s *State) { s.UpsertPV(&model.PersistentVolume{Name: "v", Claim: ref}) }, false, "", false},
		"bound":    {func(s *State) { s.UpsertPVC(bound) }, true, "", false},
		"bound, volume unknown": {func(s *State) {
			s.UpsertPVC(claim(func(c *model.PersistentVolumeClaim) { c.VolumeName, c.Bound = "w", true }))
		}, false, "", false},
		"bound to an inaccessible volume": {func(s *State) {
			s.UpsertPVC(bound)
			s.UpsertPV(&model.PersistentVolume{Name: "v", Claim: ref, Affinity: affinity("2")})
		}, true, `persistentvolumeclaim "c" was bound to persistentvolume "v", which is not accessible from node "n"`, false},
		"volume deleted": {func(s *State) { s.RemovePV("v") }, false, `persistentvolume "v" was deleted`, false},
		"volume of another claim": {func(s *State) {
			s.UpsertPV(&model.PersistentVolume{Name: "v", Claim: model.ClaimRef{Namespace: "x", Name: "d"}})
		}, false, `persistentvolume "v" is no longer reserved for persistentvolumeclaim "c"`, false},
		"reservation removed": {func(s *State) {
			s.UpsertPV(&model.PersistentVolume{Name: "v", Claim: ref})
			s.UpsertPV(&model.PersistentVolume{Name: "v"})
		}, false, `persistentvolume "v" is no longer reserved for persistentvolumeclaim "c"`, false},
		"claim deleted": {func(s *State) { s.RemovePVC("x", "c") }, false, `persistentvolumeclaim "c" was deleted`, false},
		"another claim": {func(s *State) { s.UpsertPVC(claim(func(c *model.PersistentVolumeClaim) { c.UID = "c2" })) },
			false, `persistentvolumeclaim "c" was deleted`, false},
		"another selected node": {func(s *State) {
			s.UpsertPVC(claim(func(c *model.PersistentVolumeClaim) {
				c.Name, c.UID, c.HasSelectedNode, c.SelectedNode = "d", "d", true, "m"
			}))
		}, false, `persistentvolumeclaim "d" must no longer be provisioned for node "n": its selected node is "m"`, true},
	} {
		s := New()
		s.UpsertNode(&model.Node{Name: "n", Labels: model.LabelsOf(map[string]string{"host": "1"})})
		c, d := claim(unchanged), claim(func(c *model.PersistentVolumeClaim) { c.Name, c.UID = "d", "d" })
		v := &model.PersistentVolume{Name: "v", Affinity: affinity("1")}
		s.UpsertPV(v)
		s.UpsertPVC(c)
		s.UpsertPVC(d)
		pod := &model.Pod{Namespace: "x", Name: "p", UID: "u", Spec: &model.PodSpec{}}
		plan := &model.VolumePlan{Node: "n", Bind: []model.ClaimVolume{{Claim: c, Volume: v}}}
		if tc.provision {
			plan = &model.VolumePlan{Node: "n", Provision: []*model.PersistentVolumeClaim{d}}
		}
		s.AssumeVolumes(pod, plan)
		tc.change(s)
		if ready, message := s.VolumesReady(pod), s.VolumePlanError(pod); ready != tc.ready || message != tc.err {
			t.Errorf("%s: ready %v, error %q; want %v, %q", name, ready, message, tc.ready, tc.err)
		}
	}
}
