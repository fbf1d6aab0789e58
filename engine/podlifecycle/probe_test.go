package podlifecycle

import "testing"

// probed returns a container with probes.
func probed(name string, p Probes) Container { return Container{Name: name, Probes: p} }

func TestReadinessProbe(t *testing.T) {
	l := New(Spec{Containers: []Container{probed("x", Readiness), probed("y", 0)}})
	machineTest(t, l, "0 : start x, start y", "1 up x;up y: probe x Readiness")
	if l.Phase() != Running || l.Ready() {
		t.Errorf("before the first probe result: phase %v, ready %v", l.Phase(), l.Ready())
	}
	machineTest(t, l, "2 ready x:")
	if !l.Ready() {
		t.Error("not ready after a successful probe")
	}
	machineTest(t, l, "3 unready x:", "4 ready x:", "5 exit x 1: start x, unprobe x Readiness", "6 up x: probe x Readiness")
	if l.Ready() {
		t.Error("ready by a probe result of the previous run")
	}
}

func TestStartupProbeRunsFirst(t *testing.T) {
	l := New(Spec{Containers: []Container{probed("x", Startup|Readiness|Liveness)}})
	machineTest(t, l, "0 : start x", "1 up x: probe x Startup", "2 ready x:", "3 dead x:",
		"4 launched x: unprobe x Startup, probe x Readiness, probe x Liveness")
	if _, cs := l.Statuses(); !cs[0].StartupPassed || cs[0].Ready {
		t.Errorf("%+v", cs[0])
	}
}

func TestSidecarBlocksUntilStartupProbePasses(t *testing.T) {
	s := probed("s", Startup)
	s.Sidecar = true
	l := New(Spec{Init: []Container{s}, Containers: names("x")})
	machineTest(t, l, "0 : start s", "1 up s: probe s Startup", "5 launched s: start x, unprobe s Startup", "6 up x:",
		"7 exit s 1: start s") // x keeps running
	if !l.Initialized() {
		t.Error("initialized is not withdrawn")
	}
}

func TestFailedProbeRestartsContainer(t *testing.T) {
	x := probed("x", Liveness|Readiness)
	x.PreStop = true
	l := New(Spec{Containers: []Container{x}, RestartPolicy: OnFailure})
	machineTest(t, l, "0 : start x", "1 up x: probe x Readiness, probe x Liveness", "2 ready x:",
		"3 dead x: hook x, unprobe x Liveness",
		"8 hooked x: stop x",
		"9 exit x 0: start x, unprobe x Readiness", // although its exit code is 0
		"10 up x: probe x Readiness, probe x Liveness", "11 dead x: hook x, unprobe x Liveness", "40 :", "41 : stop x", "43 : kill x, unprobe x Readiness",
		"44 exit x 137:", "53 :", "54 : start x")
	never := New(Spec{Containers: []Container{probed("x", Liveness)}, RestartPolicy: Never})
	machineTest(t, never, "0 : start x", "1 up x: probe x Liveness", "2 dead x: stop x, unprobe x Liveness", "3 exit x 143: over")
	if never.Phase() != Failed {
		t.Errorf("phase %v, want Failed", never.Phase())
	}
}

func TestProbeGracePeriod(t *testing.T) {
	x := probed("x", Startup)
	x.StartupGrace = 5e9
	l := New(Spec{Containers: []Container{x}})
	machineTest(t, l, "0 : start x", "1 up x: probe x Startup", "10 unlaunched x: stop x, unprobe x Startup", "14 :", "15 : kill x", "16 exit x 137: start x")
}

func TestTerminatingPodRunsReadinessProbeOnly(t *testing.T) {
	l := New(Spec{Containers: []Container{probed("x", Readiness|Liveness)}})
	machineTest(t, l, "0 : start x", "1 up x: probe x Readiness, probe x Liveness", "2 ready x:",
		"3 delete 30: stop x, unprobe x Liveness")
	if !l.Ready() {
		t.Error("ready before a failed probe")
	}
	machineTest(t, l, "4 unready x:")
	if l.Ready() {
		t.Error("ready after a failed probe")
	}
	machineTest(t, l, "5 exit x 0: over, gone, unprobe x Readiness")
}

func TestReadinessSurvivesAgentRestart(t *testing.T) {
	spec := Spec{Containers: []Container{probed("x", Startup|Readiness)}}
	l := Resume(spec, Running, []Status{{Name: "x", State: ContainerRunning, StartedAt: t0, StartupPassed: true, Ready: true}})
	machineTest(t, l, "1 : probe x Readiness")
	if !l.Ready() {
		t.Error("a pod that was ready is not after a restart of its agent")
	}
}
