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

// changeHold adds or removes a random Hold.
func (fc *fuzzCluster) changeHold() {
	t := model.HoldType(fc.IntN(2))
	owner, node := fc.Pick("web", "db"), fmt.Sprint("node", fc.IntN(fc.nodes))
	ns := fc.Pick("x", "x", "y")
	h := build.NewHold(t, owner, node, nil)
	h.Namespace = ns
	if t == model.Reserve {
		h.Placeholder = &model.Pod{Namespace: ns, Name: h.Name, UID: "hold/" + h.Key(), Owner: h.Owner, NominatedNodeName: node, Placeholder: true,
			Spec: fc.specs[fc.IntN(len(fc.specs))]}
		build.ForVictim(h, fmt.Sprint("p", fc.serial+fc.IntN(4)), int64(fc.serial-fc.IntN(4)))
		h.Owner.Kind = fc.Pick("", "", "StatefulSet")
	}
	if fc.OneIn(3) {
		fc.state.RemoveHold(ns, h.Name)
		return
	}
	h.Until = time.Unix(int64(fc.IntN(100)), 0)
	fc.state.UpsertHold(h)
	if fc.OneIn(20) {
		fc.state.ExpireHolds(time.Unix(int64(fc.IntN(60)), 0))
	}
}

// TestFastPathEqualsReferenceWithHolds compares decisions in clusters with many Holds.
func TestFastPathEqualsReferenceWithHolds(t *testing.T) {
	decided, cached, avoided, reserved := 0, 0, 0, 0
	for seed := range uint64(build.SoakRounds(60)) {
		fc := newFuzzCluster(t, seed+1<<34)
		if seed%2 == 0 { // keep more pods on the fast path
			for i, s := range fc.specs {
				c := *s
				c.Affinity, c.AntiAffinity, c.Spread = nil, nil, nil
				fc.specs[i] = &c
			}
			for len(fc.assigned) > 0 {
				fc.removePod()
			}
		}
		for range 200 {
			if fc.OneIn(4) {
				fc.changeHold()
			}
			p := fc.pod()
			p.Owner.UID = fc.Pick("web", "db", "none")
			if fc.OneIn(3) {
				p.Owner = model.Owner{}
			}
			p.Created = time.Unix(int64(fc.serial-fc.IntN(2)), 0)
			rec := placement.Evaluate(fc.state, fc.engine.profile, fc.engine.seed, p)
			if rec.UnschedulablePlugins.Has(decision.HoldAvoid) {
				avoided++
			}
			if rec.ReservedFirst {
				reserved++
			}
			if choice := fc.compare(p); choice != "" && fc.OneIn(2) {
				fc.assign(p, choice)
			}
			fc.step()
		}
		decided, cached = decided+fc.decisions, cached+fc.engine.counters.Cached
	}
	t.Logf("%d decisions with holds, %d from caches, %d with avoided nodes, %d on reserved nodes", decided, cached, avoided, reserved)
	if cached < decided/8 || avoided < decided/20 || reserved < decided/200 {
		t.Errorf("%d decisions: %d from caches, %d with avoided nodes, %d on reserved nodes; want at least %d, %d and %d", decided, cached, avoided, reserved, decided/8, decided/20, decided/200)
	}
}
