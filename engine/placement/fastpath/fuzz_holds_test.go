package fastpath

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/internal/testkit/build"
)

// hold adds or removes a random Hold.
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
	if ar.OneIn(3) {
		ar.state.RemoveHold(ns, h.Name)
		return
	}
	h.Until = time.Unix(int64(ar.IntN(100)), 0)
	ar.state.UpsertHold(h)
	if ar.OneIn(20) {
		ar.state.ExpireHolds(time.Unix(int64(ar.IntN(60)), 0))
	}
}

// TestFastPathEqualsReferenceWithHolds compares decisions in clusters with many Holds.
func TestFastPathEqualsReferenceWithHolds(t *testing.T) {
	decided, cached, avoided, reserved := 0, 0, 0, 0
	for seed := range uint64(build.SoakRounds(60)) {
		ar := newFuzzCluster(t, seed+1<<34)
		if seed%2 == 0 { // keep more pods on the fast path
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
			if ar.OneIn(4) {
				ar.hold()
			}
			p := ar.pod()
			if p.Owner.UID = ar.Pick("web", "db", "none"); ar.OneIn(3) {
				p.Owner = model.Owner{}
			}
			p.Created = time.Unix(int64(ar.serial-ar.IntN(2)), 0)
			rec := placement.Evaluate(ar.state, ar.engine.profile, ar.engine.seed, p)
			if rec.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			if rec.ReservedFirst {
				reserved++
			}
			if choice := ar.compare(p); choice != "" && ar.OneIn(2) {
				ar.place(p, choice)
			}
			ar.step()
		}
		decided, cached = decided+ar.decisions, cached+ar.engine.counters.Cached
	}
	t.Logf("%d decisions with holds, %d from caches, %d with avoided nodes, %d on reserved nodes", decided, cached, avoided, reserved)
	if cached < decided/8 || avoided < decided/20 || reserved < decided/200 {
		t.Errorf("too few cases: %d decisions, %d from caches, %d avoided, %d reserved", decided, cached, avoided, reserved)
	}
}
