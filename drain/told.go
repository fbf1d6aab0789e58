package drain

import "fmt"

// told is what was said of each pod, so that only news are.
type told struct{ said map[string]string }

// tell says what is new.
func (t *told) tell(m *Machine, say func(string)) {
	if t.said == nil {
		t.said = map[string]string{}
	}
	moves := m.Moves()
	n := 0
	for _, x := range moves {
		if x.Evicted() && (x.Gone() || !x.leaving()) {
			n++
		}
	}
	for _, x := range moves {
		s := news(x)
		if s == "" || t.said[x.Pod.UID] == s {
			continue
		}
		t.said[x.Pod.UID] = s
		say(fmt.Sprintf("[%d/%d] %s", n, len(moves), s))
	}
}

// news is how far a pod is, in a line; empty while its turn has not come.
func news(x *Move) string {
	name, r := x.Pod.Key(), x.Replacement
	switch {
	case !x.Evicted() && x.Block != nil && x.Block.Kind != Paced:
		return name + " is held: " + x.Block.words()
	case !x.Evicted():
		return ""
	case x.leaving() && x.Gone():
		return name + " is gone, and was on its way out"
	case x.leaving():
		return name + " is on its way out already"
	case r != nil && r.Ready:
		return fmt.Sprintf("%s is replaced by %s, Ready on %s", name, r.Key(), r.NodeName)
	case r != nil && r.NodeName != "":
		return fmt.Sprintf("%s is replaced by %s, starting on %s", name, r.Key(), r.NodeName)
	case r != nil && r.Unscheduled != "":
		return fmt.Sprintf("%s is replaced by %s, which has no node", name, r.Key())
	case x.Gone() && !x.owned():
		return name + " is gone"
	}
	return name + " is evicted"
}

// words are a block in a line.
func (b *Block) words() string {
	s := b.Why
	if b.Budget != "" {
		s = "budget " + b.Budget + ": " + s
	}
	switch {
	case b.Field != "":
		s += "; change " + b.Field
	case b.Never:
		s += "; asking again is of no use"
	case b.Until != "":
		s += "; until " + b.Until
	}
	return s
}
