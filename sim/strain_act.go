package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/intake"
)

// do carries out an effect.
func (n *strain) do(e pressure.Effect) {
	switch e := e.(type) {
	case pressure.Collect:
		what := strings.Join(slices.DeleteFunc([]string{map[bool]string{true: "dead containers"}[e.Containers], map[bool]string{true: "unused images"}[e.Images]}, func(s string) bool { return s == "" }), " and ")
		n.w.tell("agent", "collect", n.name, n.name+" deletes "+what)
		n.w.after(collecting, func() { n.collected(e) })
	case pressure.Evict:
		n.evict(&e)
	case pressure.Unable:
		if text := n.name + " is low on " + e.Signal.Resource() + ", and no pod may be evicted for it"; text != n.said {
			n.said = text
			n.w.tell("agent", "unable", n.name, text)
		}
	case pressure.Changed:
		n.said = ""
	}
}

// report has the node's status say what the machine says, where that is news.
func (n *strain) report() {
	told := n.w.agents.strains.reported[n.name]
	for k, c := range n.machine.Conditions() {
		if c.True != told[k] {
			told[k] = c.True
			n.w.Report(n.name, corev1.NodeConditionType(pressure.ConditionType(model.Pressure(k))), status(c.True))
		}
	}
	n.w.agents.strains.reported[n.name] = told
}

func (n *strain) collected(c pressure.Collect) {
	if n.w.agents.strains.nodes[n.name] != n {
		return
	}
	n.node.Collect(n.w.now, c)
	list, _ := n.pods()
	o := n.observe(list)
	for _, e := range n.machine.Collected(n.w.now, &o) {
		n.do(e)
	}
}

// evict ends a pod; its status is written when nothing of it runs any more.
func (n *strain) evict(e *pressure.Evict) {
	p := n.w.agents.pods[types.UID(e.Pod.UID)]
	if p == nil {
		return
	}
	n.w.tell("agent", "evict", e.Pod.Key(), fmt.Sprintf("%s is evicted from %s within %d s: %s", e.Pod.Key(), n.name, e.Grace, strings.TrimSpace(e.Message)))
	if p.evicted == nil {
		p.evicted = e
	}
	atOnce := e.Condition && e.Grace <= 1
	if p.diesBy = n.w.now; !atOnce {
		p.diesBy = n.w.now.Add(time.Duration(e.Grace) * time.Second)
	}
	n.w.agents.step(p, podlife.Fail{Reason: pressure.ReasonEvicted, Message: e.Message, Grace: time.Duration(e.Grace) * time.Second, Now: atOnce})
}

// displaced takes note of a pod whose eviction is written, unless somebody else had displaced it by then.
func (a *agents) displaced(p *agentPod, status *corev1.PodStatus) {
	if p.evicted == nil || status.Phase != corev1.PodFailed || p.counted {
		return
	}
	p.counted = true
	now := a.w.api.Pod(keyOf(p.object))
	if c := disrupted(now); c != nil && c.Reason != pressure.ReasonDisruption {
		return
	}
	a.w.counts.Displaced[displace.Pressure]++
	if p.evicted.Condition && a.w.o.Audit {
		a.w.audit.recorded(now)
	}
}

// rejected says why the node does not take a pod; nil: it does.
func (n *strain) rejected(p *corev1.Pod) *rejection {
	if ok, reason, message := n.machine.Admit(n.w.model(p), intake.PressureTerms(p)); !ok {
		_, has, _ := strings.Cut(strings.TrimSuffix(message, "]. "), "[")
		return &rejection{reason, message, has}
	}
	if ok, reason, message := n.reserve.Admit(n.w.now); !ok {
		return &rejection{reason, message, reason}
	}
	return nil
}
