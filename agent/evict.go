package agent

import "github.com/berthproject/berth/engine/podlife"

// evict ends a pod for who watches its node, for a critical pod, or because the node is shut down.
func (a *Agent) evict(e Eviction) {
	p := a.pods[e.Pod]
	if p == nil || p.life.Over() {
		if e.Done != nil {
			e.Done()
		}
		return
	}
	if e.Done != nil {
		p.done = append(p.done, e.Done)
	}
	if p.condition == nil {
		p.condition = e.Condition
	}
	a.release(p)
	a.step(p, podlife.Fail{Reason: e.Reason, Message: e.Message, Grace: e.Grace, Now: e.Now})
}
