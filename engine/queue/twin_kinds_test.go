package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// kindOf is what a record has in common with others.
func (t *twin) kindOf(r *record) (any, Kind) {
	if t.cfg.Kind == nil {
		return r.UID, anyKind(t.cfg.Cares)
	}
	return t.cfg.Kind(r.UID)
}

// sleep lets r wait for a change.
func (t *twin) sleep(r *record, rules decision.RuleSet) {
	key, k := t.kindOf(r)
	if t.kinds == nil {
		t.kinds = map[any]*crowd{}
	}
	c := t.kinds[key]
	if c == nil {
		c = &crowd{key: key, kind: k}
		t.kinds[key] = c
	}
	c.rules = rules
	r.place, r.crowd = Unschedulable, c
	t.arm()
}

func (t *twin) reject(now time.Time, uid string, rules decision.RuleSet) {
	r := t.find(uid)
	if r == nil || r.place != InFlight {
		return
	}
	t.now, r.entered = now, now
	r.rejections, r.failures, r.rules = r.rejections+1, 0, rules
	_, k := t.kindOf(r)
	undone := r.granted || r.edited
	if !undone && len(r.heard) > 0 {
		undone, rules = held(r.heard, k, rules)
	}
	if undone {
		if r.speaks != nil {
			r.speaks.anywhere = true
		}
		t.settle(r)
		return
	}
	t.sleep(r, rules)
	if r.speaks == r.crowd && r.speaks != nil {
		r.speaks.hush()
		r.speaks = nil
		return
	}
	t.speakNoMore(r)
}

// held holds changes against a rejection, again and again until nothing is new.
func held(heard []decision.Delta, k Kind, rules decision.RuleSet) (bool, decision.RuleSet) {
	for again := true; again; {
		before := rules
		for i := range heard {
			if k.Cares(rules)&heard[i].Kinds == 0 {
				continue
			}
			help, _, also := k.Helps(rules, &heard[i])
			if help != decision.Helpless {
				return true, 0
			}
			rules |= also
		}
		again = before != rules
	}
	return false, rules
}

func (c *crowd) hush() { c.speaker, c.anywhere, c.nodes = nil, false, nil }

// members are the pods of a crowd that sleep, by rank.
func (t *twin) members(c *crowd) []*record {
	var out []*record
	for _, r := range t.pods {
		if r.place == Unschedulable && r.crowd == c {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *record) int {
		if t.outranks(a, b) {
			return -1
		}
		return 1
	})
	return out
}

// speakNoMore lets another pod of the crowd speak that r was woken for.
func (t *twin) speakNoMore(r *record) {
	c := r.speaks
	if c == nil {
		return
	}
	r.speaks, c.speaker = nil, nil
	t.elect(c)
}

func (t *twin) elect(c *crowd) {
	if list := t.members(c); len(list) > 0 {
		c.speaker, list[0].speaks = list[0], c
		t.settle(list[0])
		return
	}
	c.hush()
	delete(t.kinds, c.key)
}

// stillWorth says whether what r was woken for is still there; if not, it sleeps again.
func (t *twin) stillWorth(r *record) bool {
	c := r.speaks
	if c == nil || c.anywhere {
		return true
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n string) bool {
		may, also := c.kind.Still(c.rules, n)
		c.rules |= also
		return !may
	})
	if len(c.nodes) > 0 {
		return true
	}
	r.speaks = nil
	t.sleep(r, c.rules)
	c.hush()
	return false
}

func (t *twin) changed(now time.Time, d decision.Delta) {
	t.now = now
	for _, r := range t.pods {
		if r.place == InFlight && !r.granted {
			r.heard = append(r.heard, d)
		}
		if r.place == Gated && t.cfg.Cares(r.rules)&d.Kinds != 0 {
			t.wake(r)
		}
	}
	for _, c := range t.kinds {
		t.tell(c, &d)
	}
}

func (t *twin) tell(c *crowd, d *decision.Delta) {
	if len(t.members(c)) == 0 && c.speaker == nil || c.kind.Cares(c.rules)&d.Kinds == 0 || c.speaker != nil && c.anywhere {
		return
	}
	help, node, also := c.kind.Helps(c.rules, d)
	switch {
	case help == decision.Helpless:
		c.rules |= also
		return
	case help == decision.HelpsAnywhere || len(c.nodes) == manyNodes:
		c.anywhere = true
	case !slices.Contains(c.nodes, node):
		c.nodes = append(c.nodes, node)
	}
	if c.speaker == nil {
		t.elect(c)
	}
}

// regroup asks for everybody's kind anew.
func (t *twin) regroup(now time.Time) {
	t.now = now
	old := t.kinds
	t.kinds = nil
	rules := map[*record]decision.RuleSet{}
	for _, r := range t.pods {
		if r.place == Unschedulable {
			rules[r] = r.crowd.rules
		}
	}
	open := map[any]bool{}
	for r, set := range rules {
		awake := r.crowd.speaker != nil
		t.sleep(r, set)
		if awake {
			open[r.crowd.key] = true
			r.crowd.anywhere = true
		}
	}
	for _, c := range old {
		if c.speaker != nil {
			c.speaker.speaks = nil
		}
	}
	for key := range open {
		t.elect(t.kinds[key])
	}
}
