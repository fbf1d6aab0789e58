package drain

import (
	"errors"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Cluster is the input of Preview.
type Cluster struct {
	Now     time.Time
	Objects []any // pointers to values of engine/model
	// Scale returns the desired replicas of a controller; with a Fault, the current number is
	// used.
	Scale func(model.Owner) budget.Scale
	Scheduler
}

// Scheduler describes how pods are scheduled.
type Scheduler struct {
	Profiles   []*framework.Profile
	Seed       uint64
	Preemption preemption.Options
	// Machine configures queue and timeouts; its Profiles are replaced by those of this struct.
	Machine scheduling.Config
}

// machineConfig returns the configuration with the profiles.
func (s *Scheduler) machineConfig() scheduling.Config {
	cfg := s.Machine
	cfg.Profiles, cfg.AuditInterval = nil, 0
	for _, p := range s.Profiles {
		cfg.Profiles = append(cfg.Profiles, profiles.NewWithOptions(p, profiles.Options{Seed: s.Seed, Preemption: s.Preemption}))
	}
	return cfg
}

// Preview simulates the drain of nodes. It assumes that nothing else happens and that replacements
// become Ready. The exception is a workload that has no Ready pod and has a pod that exceeded
// UnreadyTimeout. Results that depend on timing are marked Uncertain. The error lists missing nodes
// and the pods that the options do not allow to evict, or is ErrPreemptionLoop.
func Preview(c Cluster, nodes []string, o Options) (*Result, error) {
	r, err := c.previewOnce(nodes, o, timings[0])
	if err != nil || !r.hasContention() {
		return r, err
	}
	for _, t := range timings[1:] {
		other, err := c.previewOnce(nodes, o, t)
		if errors.Is(err, ErrPreemptionLoop) {
			continue // the other timings may still end
		}
		if err != nil {
			return nil, err
		}
		r.markUncertain(other)
	}
	return r, nil
}

// previewOnce simulates the drain with one timing.
func (c *Cluster) previewOnce(nodes []string, o Options, t timing) (*Result, error) {
	cfg := c.machineConfig()
	sc := newSimulatedCluster(c.Now, cfg, c.Objects, c.Scale)
	sc.timing = t
	becomesReady := sc.readinessAssumption()
	if sc.runScheduler(); sc.preemptionLoop {
		return nil, sc.loopError()
	}
	if err := o.Check(sc.view, nodes); err != nil {
		return nil, err
	}
	sc.cordon(nodes)
	sc.preempted = nil
	m := evacuation.NewDrain(sc.view, nodes, o, evacuation.DrainTimeouts(), cfg.Profiles)
	for !sc.preemptionLoop {
		if t.readyFirst {
			sc.markReady(becomesReady)
		}
		actions, wake := m.Step(sc.now)
		for i := range actions {
			result := sc.execute(&actions[i])
			m.HandleResult(sc.now, actions[i].ID, result)
		}
		if len(actions) > 0 || sc.advance(becomesReady) {
			continue
		}
		if m.Idle() || !wake.After(sc.now) {
			break
		}
		sc.now = wake
	}
	if sc.preemptionLoop {
		return nil, sc.loopError()
	}
	r := newResult(m, sc.view)
	r.explain(sc.view, &c.Scheduler)
	for _, p := range sc.preempted {
		r.Preempted = append(r.Preempted, PreemptedPod{Pod: p.Pod.Key(), Node: p.Pod.NodeName, By: p.By.Key()})
	}
	for i := range r.Pods {
		r.Pods[i].Replacement = "" // the real name will differ
	}
	return r, nil
}

// execute executes an action of the machine.
func (sc *simulatedCluster) execute(a *evacuation.Action) evacuation.Result {
	switch p := a.Move.Pod; a.Kind {
	case evacuation.Evict:
		ok, message := sc.evict(p, a.SurgePod)
		return evacuation.Result{Done: ok, Message: message}
	case evacuation.SurgeUp:
		sc.surge(p, 1)
	case evacuation.SurgeDown:
		sc.surge(p, -1)
	}
	return evacuation.Result{Done: true}
}

// ErrPreemptionLoop is returned if the simulated scheduler never becomes idle.
var ErrPreemptionLoop = errors.New("the simulated scheduler does not become idle")

// loopError names the last preemption.
func (sc *simulatedCluster) loopError() error {
	if len(sc.preempted) == 0 {
		return ErrPreemptionLoop
	}
	last := sc.preempted[len(sc.preempted)-1]
	owner := last.Pod.Owner.Kind + " " + last.Pod.Owner.Name
	return fmt.Errorf("%w: %s preempts pods of %s on %s, and their replacements preempt in turn", ErrPreemptionLoop, last.By.Key(), owner, last.Pod.NodeName)
}

// readinessAssumption returns a function that reports whether a pod is assumed to become Ready.
// These are pods that the simulation schedules, and recent pods of workloads that are replacing a
// pod. A workload without a Ready pod and with one that exceeded UnreadyTimeout is excluded.
func (sc *simulatedCluster) readinessAssumption() func(*model.Pod) bool {
	bound, start := map[string]bool{}, sc.now
	ready, stuck, replaces := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range sc.view.All() {
		if p.NodeName == "" {
			continue
		}
		bound[p.UID] = true
		replaces[p.Owner.UID] = replaces[p.Owner.UID] || p.Deleting
		ready[p.Owner.UID] = ready[p.Owner.UID] || p.Ready
		if !p.Ready && !p.Started.IsZero() && sc.now.Sub(p.Started) >= evacuation.UnreadyTimeout {
			stuck[p.Owner.UID] = true
		}
	}
	return func(p *model.Pod) bool {
		recent := p.Owner.UID != "" && replaces[p.Owner.UID] && p.Created.After(start.Add(-evacuation.UnreadyTimeout))
		return (!bound[p.UID] || recent) && (ready[p.Owner.UID] || !stuck[p.Owner.UID])
	}
}
