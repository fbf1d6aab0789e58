package preemption

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// Planner is the fast path: it says what Evaluate says, at a cost in what has changed
// since it was last asked for a pod of the same kind.
//
// Pods for which nothing counts on a node but what is and stands there (placement.Lone) share a column: what
// trying each node came to, with a winner tree over it. Only nodes that have changed are tried again, by
// sums over their pods instead of by the rules. Other pods are tried by the rules, where
// they may still find the best. It belongs to one State and is used by whoever owns that.
type Planner struct {
	state   *cluster.State
	profile *placement.Profile
	seed    uint64
	options Options

	engine  *placement.Engine
	stacks  stacks
	lean    lean
	epoch   uint64 // of the index, that the columns belong to
	clock   uint64 // plans
	columns map[key]*column
	seen    map[key]uint64 // kinds that have no column, by clock
	room    int            // bytes that columns may take
	ties    []cluster.NodeID
	specs   map[*model.PodSpec]*model.PodSpec // as the profile's own
	asked   asked
	rows    []decision.Count // scratch
	stand   model.Pod        // scratch
	counts  Counters
}

// Counters are how many plans were made in which way.
type Counters struct{ Quick, Guarded, Scanned, Columned int }

// key is what makes pods the same to all nodes.
type key struct {
	placement.Lone
	owner string // where it matters
}

// NewPlanner makes a planner for the pods of a profile. The seed decides between
// equal nodes, as in Evaluate.
func NewPlanner(s *cluster.State, p *placement.Profile, seed uint64, o Options) *Planner {
	pl := &Planner{state: s, profile: p, seed: seed, options: o, engine: placement.NewEngine(s, p, seed), room: 32 << 20,
		specs: map[*model.PodSpec]*model.PodSpec{}}
	pl.stacks = stacks{state: s, index: s.Index(), books: &books{rule: o.rule(), state: s}, priorities: map[int32]int{}}
	pl.lean.stacks = &pl.stacks
	pl.engine.SetRoom(16 << 20)
	pl.forget()
	return pl
}

// Counters are how many plans were made in which way so far.
func (pl *Planner) Counters() Counters { return pl.counts }

func (pl *Planner) forget() {
	pl.epoch = pl.stacks.index.Epoch
	pl.columns, pl.seen = map[key]*column{}, map[key]uint64{}
}

// Plan says how room can be made for a pod that was found Infeasible on the
// state as it is now; sum is what that decision left behind. The answer is the caller's.
func (pl *Planner) Plan(pod *model.Pod, sum *decision.Summary) *decision.Preemption {
	room := &struct { // one victim is what most plans have
		decision.Preemption
		victims [1]*model.Pod
	}{}
	out := &room.Preemption
	out.Nodes, out.Victims = pl.state.NumNodes(), room.victims[:0]
	pl.plan(pod, sum, out)
	if len(out.Victims) == 0 {
		out.Victims = nil
	}
	return out
}

// plan fills in out, in which there may be room for victims.
func (pl *Planner) plan(pod *model.Pod, sum *decision.Summary, out *decision.Preemption) {
	if sum.Outcome != decision.Infeasible || sum.Verdict != nil || out.Nodes == 0 || !pl.profile.Config().Preemption {
		return
	}
	pl.clock++
	if pod.Spec.NeverPreempts {
		out.Tried = decision.NeverMay
		return
	}
	if sum.Curable == 0 || !pl.anyBelow(pod.Spec.Priority) {
		pl.counts.Quick++
		s := survey{left: sum.Curable}
		out.Tried, out.Clears, out.Counts = decision.NoneHelps, pod.Nominated != "", s.counts(out.Nodes)
		return
	}
	own, nominated := pl.state.NodeID(pod.Nominated)
	code := decision.Unresolvable // of its own node as it is
	if l, ok := pl.engine.Lone(pod); ok {
		c := pl.column(l, pod)
		if nominated {
			code = pl.lean.code(c.needs, pod, own)
		}
		if out.Tried = barred(pl.state, pod, code); out.Tried == decision.NotTried {
			pl.choose(c, pod, out)
		}
	} else if g, ok := pl.guarded(pod); ok {
		if nominated {
			code = g.code(own)
		}
		if out.Tried = barred(pl.state, pod, code); out.Tried == decision.NotTried {
			g.choose(sum.Curable, out)
		}
	}
}

// anyBelow says whether a pod of lower priority is on any node.
func (pl *Planner) anyBelow(priority int32) bool {
	pl.stacks.sync()
	return pl.stacks.anyBelow(priority)
}

// column finds the column for a pod. One seen for the first time gets a column
// without anything kept in it.
func (pl *Planner) column(l placement.Lone, pod *model.Pod) *column {
	k := key{Lone: l}
	if pl.epoch != pl.stacks.index.Epoch {
		pl.forget()
	}
	kind := *pod
	if kind.Owner = (model.Owner{}); pl.stacks.phantoms > 0 {
		k.owner, kind.Owner = pod.Owner.UID, pod.Owner
	}
	c := pl.columns[k]
	if c == nil {
		c = &column{needs: needsOf(l, &kind), pos: -1}
		if _, again := pl.seen[k]; !again {
			if len(pl.seen) > 4096 {
				clear(pl.seen)
			}
			pl.seen[k] = pl.clock
			return c
		}
		delete(pl.seen, k)
		pl.columns[k] = c
		pl.tidy(c)
	}
	c.used, c.kept = pl.clock, true
	return c
}

// tidy keeps the columns within their room: those not used for longest go.
func (pl *Planner) tidy(but *column) {
	each := 48*len(pl.stacks.index.Rows) + 16<<10
	for len(pl.columns) > max(1, pl.room/each) {
		var oldest key
		var at uint64 = 1<<64 - 1
		for k, c := range pl.columns {
			if c != but && c.used < at {
				oldest, at = k, c.used
			}
		}
		delete(pl.columns, oldest)
	}
}
