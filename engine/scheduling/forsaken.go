package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
)

// forsaken is where room could not be made for a pod: nodes with victims that did not leave in
// time, or may not be made to leave. For as long as one of them is there, the node is chosen
// only if no other can be helped. The pod's end is the end of it.
type forsaken struct {
	uid   string
	nodes map[string][]string // uids of the victims, by node
	rest  time.Time           // until then no room is made for the pod; zero: it does not rest
}

func (f *forsaken) due() time.Time { return f.rest }
func (f *forsaken) pod() string    { return f.uid }

// forsake notes that victims on a nominee's node do not leave.
func (m *Machine) forsake(n *nominee, victims []*model.Pod) *forsaken {
	f := m.forsaken[n.uid]
	if f == nil {
		f = &forsaken{uid: n.uid, nodes: map[string][]string{}}
		m.forsaken[n.uid] = f
	}
	var uids []string
	for _, v := range victims {
		uids = append(uids, v.UID)
	}
	f.nodes[n.node] = uids
	return f
}

// rests says whether no room is made for a pod for now.
func (m *Machine) rests(uid string) bool {
	f := m.forsaken[uid]
	return f != nil && !f.rest.IsZero()
}

// rested has a pod tried again for which no room was made for a while.
func (m *Machine) rested(now time.Time, f *forsaken) {
	f.rest = time.Time{}
	m.activate(now, f.uid)
}

// shuns says whether a pod has forsaken a node.
func (m *Machine) shuns(uid, node string) bool {
	f := m.forsaken[uid]
	return f != nil && slices.ContainsFunc(f.nodes[node], func(victim string) bool {
		v := m.state.Pod(victim)
		return counted(v) && v.NodeName == node
	})
}

// candidates are the nodes that preemption could make fit, given the record of a pod that is
// Infeasible, and the choice among them: without those forsaken, if there are others.
func (m *Machine) candidates(pod *model.Pod, placer Surveyor, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	all, p := placer.Candidates(pod, rec)
	if p.Tried != decision.Nominated {
		return all, p
	}
	left := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return m.shuns(pod.UID, c.Node) })
	if len(left) == len(all) {
		return all, p
	}
	if other := placer.Among(pod, left); other.Tried == decision.Nominated {
		return left, other
	}
	return all, p
}

// victims are the pods that are leaving a pod's nominated node for its sake.
func (m *Machine) victims(pod *model.Pod) (list []*model.Pod) {
	id, ok := m.state.NodeID(pod.Nominated)
	if !ok {
		return nil
	}
	for _, v := range m.state.Node(id).Pods {
		if v.Spec.Priority < pod.Spec.Priority && displace.Preemption.Drives(v) {
			list = append(list, v)
		}
	}
	return list
}

// longestGrace is more than anybody waits, and small enough to count with.
const longestGrace = 10 * 365 * 24 * 60 * 60

// patience is how long a nominee's victims may take: the longest grace that any of them has,
// and Config.VictimsTimeout.
func (m *Machine) patience(victims []*model.Pod) time.Duration {
	var grace int64
	for _, v := range victims {
		grace = max(grace, v.Grace)
	}
	return time.Duration(min(grace, longestGrace))*time.Second + m.cfg.VictimsTimeout
}
