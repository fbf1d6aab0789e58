package podlifecycle

import "testing"

func probedContainer(name string, p Probes) Container { return Container{Name: name, Probes: p} }

func TestReadinessProbe(t *testing.T) {
	m := New(Spec{Containers: []Container{probedContainer("x", Readiness), probedContainer("y", 0)}})
	runScript(t, m, "0 : start x, start y", "1 started x;started y: start-probe x Readiness")
	if m.Phase() != Running || m.Ready() {
		t.Errorf("before the first probe result: phase %v, ready %v, want Running, false", m.Phase(), m.Ready())
	}
	runScript(t, m, "2 ready x:")
	if !m.Ready() {
		t.Error("Ready is false after a successful probe, want true")
	}
	runScript(t, m, "3 not-ready x:", "4 ready x:", "5 exit x 1: start x, stop-probe x Readiness", "6 started x: start-probe x Readiness")
	if m.Ready() {
		t.Error("Ready is true after a restart without a probe result, want false")
	}
}

func TestStartupProbeRunsFirst(t *testing.T) {
	m := New(Spec{Containers: []Container{probedContainer("x", Startup|Readiness|Liveness)}})
	runScript(t, m, "0 : start x", "1 started x: start-probe x Startup", "2 ready x:", "3 liveness-failed x:",
		"4 startup-passed x: stop-probe x Startup, start-probe x Readiness, start-probe x Liveness")
	if _, cs := m.Statuses(); !cs[0].StartupPassed || cs[0].Ready {
		t.Errorf("got %+v, want a passed startup probe and no readiness", cs[0])
	}
}

func TestSidecarBlocksUntilStartupProbePasses(t *testing.T) {
	s := probedContainer("s", Startup)
	s.Sidecar = true
	m := New(Spec{Init: []Container{s}, Containers: newContainers("x")})
	runScript(t, m, "0 : start s", "1 started s: start-probe s Startup", "5 startup-passed s: start x, stop-probe s Startup", "6 started x:",
		"7 exit s 1: start s") // x keeps running
	if !m.Initialized() {
		t.Error("Initialized is false after a restart of the sidecar, want true")
	}
}

func TestFailedProbeRestartsContainer(t *testing.T) {
	x := probedContainer("x", Liveness|Readiness)
	x.PreStop = true
	m := New(Spec{Containers: []Container{x}, RestartPolicy: OnFailure})
	runScript(t, m, "0 : start x", "1 started x: start-probe x Readiness, start-probe x Liveness", "2 ready x:",
		"3 liveness-failed x: prestop x, stop-probe x Liveness",
		"8 prestop-done x: stop x",
		"9 exit x 0: start x, stop-probe x Readiness", // although its exit code is 0
		"10 started x: start-probe x Readiness, start-probe x Liveness", "11 liveness-failed x: prestop x, stop-probe x Liveness", "40 :", "41 : stop x", "43 : kill x, stop-probe x Readiness",
		"44 exit x 137:", "53 :", "54 : start x")
	neverRestarted := New(Spec{Containers: []Container{probedContainer("x", Liveness)}, RestartPolicy: Never})
	runScript(t, neverRestarted, "0 : start x", "1 started x: start-probe x Liveness", "2 liveness-failed x: stop x, stop-probe x Liveness", "3 exit x 143: stopped")
	if neverRestarted.Phase() != Failed {
		t.Errorf("phase %v, want Failed", neverRestarted.Phase())
	}
}

func TestProbeGracePeriod(t *testing.T) {
	x := probedContainer("x", Startup)
	x.StartupGrace = 5e9
	m := New(Spec{Containers: []Container{x}})
	runScript(t, m, "0 : start x", "1 started x: start-probe x Startup", "10 startup-failed x: stop x, stop-probe x Startup", "14 :", "15 : kill x", "16 exit x 137: start x")
}

func TestTerminatingPodRunsReadinessProbeOnly(t *testing.T) {
	m := New(Spec{Containers: []Container{probedContainer("x", Readiness|Liveness)}})
	runScript(t, m, "0 : start x", "1 started x: start-probe x Readiness, start-probe x Liveness", "2 ready x:",
		"3 delete 30: stop x, stop-probe x Liveness")
	if !m.Ready() {
		t.Error("Ready is false before a failed probe, want true")
	}
	runScript(t, m, "4 not-ready x:")
	if m.Ready() {
		t.Error("Ready is true after a failed probe, want false")
	}
	runScript(t, m, "5 exit x 0: stopped, removed, stop-probe x Readiness")
}

func TestReadinessSurvivesAgentRestart(t *testing.T) {
	spec := Spec{Containers: []Container{probedContainer("x", Startup|Readiness)}}
	m := Resume(spec, Running, []Status{{Name: "x", State: ContainerRunning, StartedAt: t0, StartupPassed: true, Ready: true}})
	runScript(t, m, "1 : start-probe x Readiness")
	if !m.Ready() {
		t.Error("Ready is false after a restart of the agent, want true")
	}
}
