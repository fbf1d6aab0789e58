package invariants

import (
	"slices"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/kubeclient"
)

// openBinds are the binds of the running scheduler that may still succeed, by pod UID.
type openBinds map[string][]*openBind

// openBind is a bind to a node. The request is nil until it is sent.
type openBind struct {
	node    string
	request *sim.Request
}

// noteSent notes the request of a bind.
func (o openBinds) noteSent(n kubeclient.Binding) {
	i := slices.IndexFunc(o[n.UID], func(b *openBind) bool { return b.request == nil && b.node == n.Node })
	if i >= 0 {
		o[n.UID][i].request = n.Request
	}
}

// checkBind checks BoundOnce. The scheduler must not bind a pod while a bind to another node may still succeed, if its
// state contains that node.
func (a *Checker) checkBind(e scheduling.Bind) {
	uid := e.Pod.UID
	open := slices.DeleteFunc(a.binds[uid], func(b *openBind) bool { return b.request != nil && b.request.IsSettled() })
	p := a.w.API().Pod(e.Pod.Key())
	deleted := p == nil || string(p.UID) != uid // no bind can succeed any longer
	for _, b := range open {
		if _, known := a.o.Scheduler.Machine().State().NodeID(b.node); b.node != e.Node && known && !deleted {
			a.failf("BoundOnce", "pod %s is being bound to %s while a bind to %s may still succeed", e.Pod.Key(), e.Node, b.node)
		}
	}
	a.binds[uid] = append(open, &openBind{node: e.Node})
}
