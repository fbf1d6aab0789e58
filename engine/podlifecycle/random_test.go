package podlifecycle

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

// TestRandomPods checks the package's invariants over random events.
func TestRandomPods(t *testing.T) {
	for seed := int64(0); seed < 6000; seed++ {
		rnd := rand.New(rand.NewSource(seed))
		inits := [][]string{{"a", "+s", "b"}, {"a", "+!s", "b"}}[rnd.Intn(2)]
		containers := [][]string{{"x", "y"}, {"!x", "y"}}[rnd.Intn(2)]
		spec := Spec{Init: newContainers(inits...)[:rnd.Intn(4)], Containers: newContainers(containers...)[:1+rnd.Intn(2)], RestartPolicy: RestartPolicy(rnd.Intn(3))}
		for i := range spec.Containers {
			spec.Containers[i].Probes = Probes(rnd.Intn(8))
		}
		if rnd.Intn(4) == 0 {
			spec.Deadline = time.Duration(rnd.Intn(600)) * time.Second
		}
		p := &randomPod{rnd: rnd, running: map[string]bool{}, stopRequested: map[string]time.Time{}, probes: map[string]Probes{}, now: t0, spec: spec, m: New(spec)}
		if err := p.run(); err != "" {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
}

// randomPod is a runtime that starts containers as requested, ends containers, hooks and probes at
// random, and fails and deletes the pod at some time.
type randomPod struct {
	rnd           *rand.Rand
	spec          Spec
	m             *Machine
	running       map[string]bool
	stopRequested map[string]time.Time // when the stop was requested
	probes        map[string]Probes
	starts        map[string]int32
	events        []Event
	now           time.Time
	deadline      time.Time // when all remaining containers may be killed
	failed        bool      // Fail was sent
	killNow       bool
	mayRestart    bool // a container was replaced or lost, and may be killed or restarted
	stopped       bool
}

// run returns the first violation of an invariant, or "".
func (p *randomPod) run() string {
	for step := range 400 {
		p.randomEvent(step)
		p.now = p.now.Add(time.Duration(p.rnd.Intn(20)) * time.Second)
		if step == 50 {
			grace := time.Duration(p.rnd.Intn(40)) * time.Second
			p.events = append(p.events, Delete{grace})
			p.recordDeadline(grace)
		}
		effects, wake := p.m.Step(p.now, p.events...)
		p.events = nil
		if violation := p.check(effects, wake); violation != "" {
			return violation
		}
		if p.m.removed {
			return ""
		}
	}
	return "PodRemoved was not emitted in 400 steps"
}

// recordDeadline records the end of the grace period.
func (p *randomPod) recordDeadline(grace time.Duration) {
	if end := p.now.Add(grace); p.deadline.IsZero() || end.Before(p.deadline) {
		p.deadline = end
	}
}

func (p *randomPod) randomEvent(step int) {
	for _, c := range []string{"a", "s", "b", "x", "y"} {
		if p.running[c] && (p.rnd.Intn(3) == 0 || step > 100) {
			p.events = append(p.events, Exited{Container: c, Code: int32(p.rnd.Intn(2))})
			delete(p.running, c)
			delete(p.stopRequested, c)
		}
		for _, kind := range []Probes{Startup, Readiness, Liveness} {
			if p.probes[c]&kind != 0 && p.rnd.Intn(4) == 0 {
				ok := p.rnd.Intn(3) > 0
				p.mayRestart = p.mayRestart || !ok && kind != Readiness
				p.events = append(p.events, ProbeResult{c, kind, p.m.container(c).restarts, ok})
			}
		}
	}
	switch {
	case p.rnd.Intn(100) == 0 && step < 50:
		grace := time.Duration(p.rnd.Intn(40)) * time.Second
		f := Fail{Reason: "Evicted", Grace: grace, KillNow: p.rnd.Intn(3) == 0}
		p.failed, p.killNow = p.failed || !p.m.isTerminal(), p.killNow || f.KillNow
		p.events = append(p.events, f)
		p.recordDeadline(grace)
	case p.rnd.Intn(100) == 0 && p.running["x"]:
		p.mayRestart = true
		p.events = append(p.events, RestartContainer{Container: "x"})
	case p.rnd.Intn(200) == 0:
		p.mayRestart = true
		p.events = append(p.events, SandboxLost{})
		for _, c := range []string{"s", "x", "y"} {
			if p.running[c] {
				p.events = append(p.events, Exited{Container: c, Code: 137})
				delete(p.running, c)
				delete(p.stopRequested, c)
			}
		}
	}
}

// check returns the violation of an invariant by a step, or "".
func (p *randomPod) check(effects []Effect, wake time.Time) string {
	if !wake.IsZero() && wake.Before(p.now) {
		return fmt.Sprintf("the wake time is %v in the past", p.now.Sub(wake))
	}
	for _, e := range effects {
		if violation := p.applyEffect(e); violation != "" {
			return violation
		}
	}
	for c, kinds := range p.probes {
		if kinds != 0 && !p.running[c] {
			return c + " is probed although it does not run"
		}
	}
	if p.stopped != p.m.Stopped() {
		return "PodStopped was not emitted, or Stopped returned false after it"
	}
	if p.failed && p.m.Stopped() && p.m.Phase() != Failed {
		return fmt.Sprintf("the pod failed, but its phase is %v", p.m.Phase())
	}
	return ""
}

// applyEffect executes an effect and returns the violation of an invariant, or "".
func (p *randomPod) applyEffect(e Effect) string {
	switch e := e.(type) {
	case Start:
		return p.start(e)
	case RunPreStop:
		if p.rnd.Intn(2) == 0 {
			p.events = append(p.events, PreStopDone{e.Container})
		}
	case Stop:
		if e.Container == "s" && p.now.Before(p.deadline) && (p.running["x"] || p.running["y"]) {
			return "a sidecar is stopped before the main containers"
		}
		p.stopRequested[e.Container] = p.now
	case Kill:
		at, ok := p.stopRequested[e.Container]
		if !p.killNow && (!ok || p.now.Sub(at) < minStop || p.now.Before(p.deadline) && !p.mayRestart && p.spec.Deadline == 0) {
			return e.Container + " is killed too early"
		}
	case StartProbe:
		if p.probes[e.Container]&e.Probe != 0 {
			return e.Container + " is probed twice"
		}
		p.probes[e.Container] |= e.Probe
	case StopProbe:
		p.probes[e.Container] &^= e.Probe
	case PodStopped:
		if p.stopped || len(p.running) > 0 {
			return fmt.Sprintf("stopped twice (%v), or while %v run", p.stopped, p.running)
		}
		p.stopped = true
	case PodRemoved:
		if !p.stopped {
			return "PodRemoved was emitted before PodStopped"
		}
	}
	return ""
}

func (p *randomPod) start(e Start) string {
	switch {
	case p.running[e.Container]:
		return e.Container + " runs twice"
	case p.stopped:
		return e.Container + " starts after PodStopped"
	case e.Container == "b" && !p.running["s"] && !p.mayRestart:
		return "b starts without its sidecar"
	case p.starts[e.Container] != e.Attempt:
		return fmt.Sprintf("attempt %d of %s is start number %d", e.Attempt, e.Container, p.starts[e.Container])
	}
	if p.starts == nil {
		p.starts = map[string]int32{}
	}
	p.starts[e.Container]++
	p.running[e.Container] = true
	if p.rnd.Intn(4) == 0 {
		p.events = append(p.events, Waiting{Container: e.Container, Reason: "ErrImagePull"})
	}
	p.events = append(p.events, Started{Container: e.Container})
	return ""
}
