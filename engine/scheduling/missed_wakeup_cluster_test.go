package scheduling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// wakeupCluster is a cluster that checks every unschedulable pod with the reference evaluator after
// each event.
type wakeupCluster struct {
	generator
	t             *testing.T
	name          string
	m             *Machine
	p             *framework.Profile
	now           time.Time
	nodes         int
	pods          []*model.Pod // in the API
	specs         []*model.PodSpec
	terminating   []string // UIDs of terminating victims
	serial        int
	events        int
	unschedulable int    // unschedulable pods checked, over all events
	lastEvent     string // description of the last event
	slow          bool   // events and decisions alternate
}

func newWakeupCluster(t *testing.T, seed uint64) *wakeupCluster {
	s := &wakeupCluster{generator: generator{rand.New(rand.NewPCG(seed, 11))}, t: t, name: fmt.Sprint("seed ", seed), now: time.Unix(1000, 0)}
	c := framework.DefaultConfig()
	c.Preemption = !s.oneIn(3)
	s.slow = s.oneIn(2)
	if s.oneIn(3) {
		c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true}}}
	}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Queue.MaxUnschedulableDuration = 1000 * time.Hour // pods are not flushed
	cfg.AuditInterval = 0                                 // pods are not audited
	cfg.Profiles = []profiles.Profile{profiles.New(p, seed, 0)}
	s.p, s.m, s.nodes = p, New(cfg), 2+s.IntN(6)
	for range 2 + s.IntN(5) {
		s.specs = append(s.specs, s.spec())
	}
	events := []Event{&model.Namespace{Name: "x", Labels: model.Labels{{Key: "team", Value: "a"}}},
		&model.StorageClass{Name: "local", Provisioner: "kubernetes.io/no-provisioner", WaitForFirstConsumer: true},
		&model.StorageClass{Name: "csi", Provisioner: "csi.x", WaitForFirstConsumer: true}}
	for i := range s.nodes {
		events = append(events, s.node(i))
	}
	for range 8 {
		events = append(events, s.storage())
	}
	s.step(events...)
	return s
}

// step applies events and executes all effects. If slow is set, the machine may make further
// decisions before it receives the effects.
func (s *wakeupCluster) step(events ...Event) {
	for range 5000 {
		n := len(events)
		if s.slow && n > 0 {
			n = s.IntN(n + 1)
		}
		limit := 1000
		if s.slow {
			limit = s.IntN(3)
		}
		effects, _ := s.m.Step(s.now, events[:n], limit)
		s.now = s.now.Add(12 * time.Second)
		events = slices.Clone(events[n:])
		d := s.m.Depths()
		if len(effects)+len(events) == 0 && d.Active+d.Backoff == 0 {
			return
		}
		for _, e := range effects {
			events = append(events, s.execute(e)...)
		}
	}
	s.t.Fatalf("%s: effects or queued pods remain after %s and 5000 steps", s.name, s.lastEvent)
}

// execute executes an effect and returns the resulting events.
func (s *wakeupCluster) execute(e Effect) []Event {
	done := Outcome{ID: e.EffectID()}
	switch e := e.(type) {
	case Bind:
		if s.oneIn(20) {
			return []Event{Outcome{ID: e.ID, Result: Refused, Reason: "quota"}}
		}
		return []Event{done, s.change(e.Pod.UID, func(p *model.Pod) { p.NodeName, p.NominatedNodeName = e.Node, "" })}
	case RefreshPod:
		return []Event{Outcome{ID: e.ID, Pod: s.pod(e.Pod.UID)}}
	case Preempt:
		if s.oneIn(20) { // not executed
			return []Event{Outcome{ID: e.ID, Result: Unknown}}
		}
		out := []Event{done, s.change(e.Pod.UID, func(p *model.Pod) { p.NominatedNodeName = e.Plan.Node })}
		for _, v := range e.Plan.Victims {
			if s.pod(v.UID) == nil {
				continue
			}
			out = append(out, s.change(v.UID, func(p *model.Pod) { p.Deleting, p.DisruptionReason = true, "PreemptionByScheduler" }))
			s.terminating = append(s.terminating, v.UID)
		}
		return out
	case ClearNomination:
		return []Event{done, s.change(e.Pod.UID, func(p *model.Pod) { p.NominatedNodeName = "" })}
	case BindVolumes:
		if s.oneIn(20) { // not written
			return []Event{Outcome{ID: e.ID, Result: []Result{Unknown, Conflict}[s.IntN(2)]}}
		}
		return append([]Event{done}, s.bindVolumes(e.Plan)...)
	}
	return []Event{done}
}

func (s *wakeupCluster) bindVolumes(plan *model.VolumePlan) (out []Event) {
	bind := func(c *model.PersistentVolumeClaim, v model.PersistentVolume) {
		v.Claim = model.ClaimRef{Namespace: c.Namespace, Name: c.Name, UID: c.UID}
		bound := *c
		bound.VolumeName, bound.Bound = v.Name, true
		out = append(out, &v, &bound)
	}
	for _, b := range plan.Bind {
		bind(b.Claim, *b.Volume)
	}
	for _, c := range plan.Provision {
		s.serial++
		bind(c, model.PersistentVolume{Name: fmt.Sprint("provisioned-", s.serial), Class: c.ClassName(), Capacity: c.Request, AccessModes: c.AccessModes, Phase: "Bound",
			CSI: model.CSIVolume{Driver: "csi.x", Handle: fmt.Sprint("provisioned-", s.serial)}})
	}
	return out
}

func (s *wakeupCluster) pod(uid string) *model.Pod {
	for _, p := range s.pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// change changes a pod in the API and returns the event.
func (s *wakeupCluster) change(uid string, f func(*model.Pod)) Event {
	i := slices.IndexFunc(s.pods, func(p *model.Pod) bool { return p.UID == uid })
	if i < 0 {
		return Remove{&model.Pod{UID: uid}}
	}
	p := *s.pods[i]
	f(&p)
	s.pods[i] = &p
	return &p
}

func (s *wakeupCluster) remove(uid string) Event {
	s.pods = slices.DeleteFunc(s.pods, func(p *model.Pod) bool { return p.UID == uid })
	s.terminating = slices.DeleteFunc(s.terminating, func(v string) bool { return v == uid })
	return Remove{&model.Pod{UID: uid}}
}

// check fails the test if a gated pod has no reason to wait, or if an unschedulable pod fits a node or
// could preempt.
func (s *wakeupCluster) check() {
	s.events++
	s.m.queue.PendingPods(func(p queue.PendingPod) bool {
		pod := s.m.state.Pod(p.UID)
		switch p.Pool {
		case queue.Gated:
			if plugins.PreEnqueue(s.p, s.m.state, pod) == nil {
				s.t.Fatalf("%s event %d (%s): %s is gated without a reason", s.name, s.events, s.lastEvent, p.UID)
			}
			return true
		case queue.Unschedulable:
		default:
			return true
		}
		s.unschedulable++
		rec := placement.Evaluate(s.m.state, s.p, 1, pod)
		if rec.Outcome == decision.Scheduled {
			s.t.Fatalf("%s event %d (%s): %s is unschedulable (%b) but fits %s\nspec %+v\npod %+v", s.name, s.events, s.lastEvent, p.UID, p.UnschedulablePlugins, rec.Choice, pod.Spec, pod)
		}
		if r := preemption.Evaluate(s.m.state, s.p, 1, preemption.Defaults(), pod, rec); r.Preemption.Outcome == decision.PreemptionNominated {
			s.t.Fatalf("%s event %d (%s): %s is unschedulable (%b) but could preempt on %s\nspec %+v\npod %+v", s.name, s.events, s.lastEvent, p.UID, p.UnschedulablePlugins, r.Preemption.Node, pod.Spec, pod)
		}
		return true
	})
}
