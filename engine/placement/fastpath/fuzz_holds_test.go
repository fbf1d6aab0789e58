package fastpath

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/internal/build"
)

// hold puts a random hold into the arena, or takes one out.
func (ar *fuzzCluster) hold() {
	t := model.HoldType(ar.IntN(2))
	owner, node := ar.Pick("web", "db"), fmt.Sprint("node", ar.IntN(ar.nodes))
	ns := ar.Pick("x", "x", "y")
	h := build.NewHold(t, owner, node, nil)
	h.Namespace = ns
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: ns, Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true,
			Spec: ar.specs[ar.IntN(len(ar.specs))]}
		build.ForVictim(h, fmt.Sprint("p", ar.serial+ar.IntN(4)), int64(ar.serial-ar.IntN(4)))
		h.Owner.Kind = ar.Pick("", "", "StatefulSet")
	}
	if ar.One(3) {
		ar.state.RemoveHold(ns, h.Name)
		return
	}
	h.Until = time.Unix(int64(ar.IntN(100)), 0)
	ar.state.UpsertHold(h)
	if ar.One(20) {
		ar.state.ExpireHolds(time.Unix(int64(ar.IntN(60)), 0))
	}
}

// TestFastPathEqualsReferenceWithHolds compares the two where nodes are held for and
// against owners all the time.
func TestFastPathEqualsReferenceWithHolds(t *testing.T) {
	applies, viewed, avoided, first := 0, 0, 0, 0
	for seed := range uint64(build.SoakRounds(60)) {
		ar := newFuzzCluster(t, seed+1<<34)
		if seed%2 == 0 { // more for the fast path
			for i, s := range ar.specs {
				c := *s
				c.Affinity, c.AntiAffinity, c.Spread = nil, nil, nil
				ar.specs[i] = &c
			}
			for len(ar.placed) > 0 {
				ar.removePod()
			}
		}
		for range 200 {
			if ar.One(4) {
				ar.hold()
			}
			p := ar.pod()
			if p.Owner.UID = ar.Pick("web", "db", "none"); ar.One(3) {
				p.Owner = model.Owner{}
			}
			p.Created = time.Unix(int64(ar.serial-ar.IntN(2)), 0)
			rec := placement.Evaluate(ar.state, ar.engine.profile, ar.engine.seed, p)
			if rec.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			if rec.ReservedFirst {
				first++
			}
			if choice := ar.compare(p); choice != "" && ar.One(2) {
				ar.place(p, choice)
			}
			ar.step()
		}
		applies, viewed = applies+ar.asked, viewed+ar.engine.counters.Cached
	}
	t.Logf("soak: %d decisions beside holds, %d by views, in %d a hold kept the pod off, in %d it took a held node", applies, viewed, avoided, first)
	if viewed < applies/8 || avoided < applies/20 || first < applies/200 {
		t.Errorf("the comparison lost its grip: %d decisions, %d by views, %d avoided, %d held", applies, viewed, avoided, first)
	}
}
