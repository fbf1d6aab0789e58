package podlifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// formatEffects returns effects as scripts state them.
func formatEffects(effects []Effect) string {
	var out []string
	for _, e := range effects {
		switch e := e.(type) {
		case Start:
			out = append(out, "start "+e.Container)
		case RunPreStop:
			out = append(out, "prestop "+e.Container)
		case Stop:
			out = append(out, "stop "+e.Container)
		case Kill:
			out = append(out, "kill "+e.Container)
		case StartProbe:
			out = append(out, "start-probe "+e.Container+" "+e.Probe.String())
		case StopProbe:
			out = append(out, "stop-probe "+e.Container+" "+e.Probe.String())
		case PodStopped:
			out = append(out, "stopped")
		case PodRemoved:
			out = append(out, "removed")
		}
	}
	return strings.Join(out, ", ")
}

// runScript drives a machine through lines "seconds event: effects".
func runScript(t *testing.T, m *Machine, lines ...string) {
	t.Helper()
	for _, line := range lines {
		var seconds int
		var eventText string
		head, want, _ := strings.Cut(line, ":")
		_, _ = fmt.Sscanf(head, "%d", &seconds)
		_, eventText, _ = strings.Cut(head, " ")
		var events []Event
		for _, w := range strings.Split(eventText, ";") {
			if f := strings.Fields(w); len(f) > 0 {
				e := parseEvent(m, f)
				if e == nil {
					t.Fatalf("unknown event %q", w)
				}
				events = append(events, e)
			}
		}
		got, _ := m.Step(t0.Add(time.Duration(seconds)*time.Second), events...)
		if formatEffects(got) != strings.TrimSpace(want) {
			t.Fatalf("%s: effects %q, want %q", line, formatEffects(got), strings.TrimSpace(want))
		}
	}
}

// parseEvent parses an event: its word and the arguments.
func parseEvent(m *Machine, f []string) Event {
	number := func(i int) (n int) {
		if i < len(f) {
			_, _ = fmt.Sscan(f[i], &n)
		}
		return n
	}
	probeResult := func(p Probes, ok bool) Event { return ProbeResult{f[1], p, m.container(f[1]).restarts, ok} }
	switch f[0] {
	case "started":
		return Started{Container: f[1]}
	case "exit":
		return Exited{Container: f[1], Code: int32(number(2))}
	case "prestop-done":
		return PreStopDone{f[1]}
	case "delete":
		return Delete{time.Duration(number(1)) * time.Second}
	case "fail":
		return Fail{Reason: f[1], Message: "a message", Grace: time.Duration(number(2)) * time.Second, KillNow: number(2) < 0}
	case "waiting":
		return Waiting{f[1], f[2], "a message"}
	case "startup-passed", "startup-failed":
		return probeResult(Startup, f[0] == "startup-passed")
	case "ready", "not-ready":
		return probeResult(Readiness, f[0] == "ready")
	case "liveness-failed":
		return probeResult(Liveness, false)
	case "deadline":
		return SetDeadline{time.Duration(number(1)) * time.Second}
	case "sandbox-lost":
		return SandboxLost{}
	case "spec-changed":
		return RestartContainer{Container: f[1]}
	case "resized":
		return RestartContainer{Container: f[1], Resize: true}
	}
	return nil
}

// newContainers returns containers; + marks a sidecar, ! one with a preStop hook.
func newContainers(s ...string) (out []Container) {
	for _, n := range s {
		name := strings.Trim(n, "+!")
		out = append(out, Container{Name: name, Sidecar: strings.Contains(n, "+"), PreStop: strings.Contains(n, "!")})
	}
	return out
}

func TestInitContainerOrder(t *testing.T) {
	m := New(Spec{Init: newContainers("a", "+s", "b"), Containers: newContainers("x", "y"), RestartPolicy: Never})
	runScript(t, m,
		"0 : start a",
		"1 started a:",
		"2 exit a 0: start s",
		"3 started s: start b",
		"4 started b:",
		"5 exit b 0: start x, start y",
		"6 started x;started y:",
		"7 exit x 0:",
		"8 exit y 0: stop s",
		"9 exit s 0: stopped", "10 :")
	if m.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", m.Phase())
	}
}

func TestRestartsBackOff(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start x", "1 started x:",
		"2 exit x 1: start x", // the first restart is immediate
		"3 started x:", "4 exit x 1:", "13 :", "14 : start x",
		"15 started x:", "16 exit x 1:", "35 :", "36 : start x",
		// ten minutes of running reset the backoff
		"37 started x:", "637 exit x 1: start x")
	if _, cs := m.Statuses(); cs[0].Restarts != 4 || cs[0].Last == nil {
		t.Errorf("restarts %d, last %+v; want 4 and a last exit", cs[0].Restarts, cs[0].Last)
	}
}

// TestImageUpdateResetsBackoff checks that a container with another image does not wait for the delay of the previous one,
// and that one with other resources does.
func TestImageUpdateResetsBackoff(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start x", "1 started x:", "2 exit x 1: start x", "3 started x:", "4 exit x 1:", "14 : start x", "15 started x:", "16 exit x 1:",
		"17 resized x:", "18 spec-changed x: start x", "19 started x:", "20 exit x 1:", "29 :", "30 : start x",
		"31 started x:", "32 spec-changed x: stop x", "33 exit x 1: start x", "34 started x:", "35 exit x 1:", "44 :", "45 : start x")
}

func TestInitFailureWithRestartPolicyNever(t *testing.T) {
	m := New(Spec{Init: newContainers("a"), Containers: newContainers("x"), RestartPolicy: Never})
	runScript(t, m, "0 : start a", "1 started a:", "2 exit a 3: stopped")
	if m.Phase() != Failed {
		t.Errorf("phase %v, want Failed", m.Phase())
	}
}

func TestDeletionBeforeStart(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m, "0 delete 30: stopped, removed", "1 :")
	if m.Phase() != Failed {
		t.Errorf("phase %v, want Failed", m.Phase())
	}
}

func TestDeletionDuringInit(t *testing.T) {
	m := New(Spec{Init: newContainers("a"), Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m, "0 : start a", "1 started a:", "2 delete 30: stop a", "3 exit a 0: stopped, removed")
	if m.Phase() != Failed {
		t.Errorf("phase %v, want Failed", m.Phase())
	}
}

func TestResume(t *testing.T) {
	m := Resume(Spec{Containers: newContainers("x"), RestartPolicy: Always}, Running, []Status{{Name: "x", State: ContainerRunning, StartedAt: t0, Restarts: 2}})
	runScript(t, m, "1 :", "2 exit x 1:", "21 :", "22 : start x")
}
