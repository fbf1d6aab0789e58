package podlifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func words(es []Effect) string {
	var out []string
	for _, e := range es {
		switch e := e.(type) {
		case Start:
			out = append(out, "start "+e.Container)
		case RunPreStop:
			out = append(out, "hook "+e.Container)
		case Stop:
			out = append(out, "stop "+e.Container)
		case Kill:
			out = append(out, "kill "+e.Container)
		case StartProbe:
			out = append(out, "probe "+e.Container+" "+e.Probe.String())
		case StopProbe:
			out = append(out, "unprobe "+e.Container+" "+e.Probe.String())
		case PodStopped:
			out = append(out, "over")
		case PodRemoved:
			out = append(out, "gone")
		}
	}
	return strings.Join(out, ", ")
}

// machineTest drives a machine through lines "seconds event: effects".
func machineTest(t *testing.T, l *Machine, lines ...string) {
	t.Helper()
	for _, line := range lines {
		var at int
		var what string
		head, want, _ := strings.Cut(line, ":")
		_, _ = fmt.Sscanf(head, "%d", &at)
		_, what, _ = strings.Cut(head, " ")
		var events []Event
		for _, w := range strings.Split(what, ";") {
			if f := strings.Fields(w); len(f) > 0 {
				e := event(l, f)
				if e == nil {
					t.Fatalf("unknown event %q", w)
				}
				events = append(events, e)
			}
		}
		got, _ := l.Step(t0.Add(time.Duration(at)*time.Second), events...)
		if words(got) != strings.TrimSpace(want) {
			t.Fatalf("%s\n got %s", line, words(got))
		}
	}
}

// event parses a word with its arguments.
func event(l *Machine, f []string) Event {
	number := func(i int) (n int) {
		if i < len(f) {
			_, _ = fmt.Sscan(f[i], &n)
		}
		return n
	}
	probed := func(p Probes, ok bool) Event { return ProbeResult{f[1], p, l.container(f[1]).restarts, ok} }
	switch f[0] {
	case "up":
		return Started{Container: f[1]}
	case "exit":
		return Exited{Container: f[1], Code: int32(number(2))}
	case "hooked":
		return PreStopDone{f[1]}
	case "delete":
		return Delete{time.Duration(number(1)) * time.Second}
	case "fail":
		return Fail{Reason: f[1], Message: "words", Grace: time.Duration(number(2)) * time.Second, KillNow: number(2) < 0}
	case "waits":
		return Waiting{f[1], f[2], "words"}
	case "launched", "unlaunched":
		return probed(Startup, f[0] == "launched")
	case "ready", "unready":
		return probed(Readiness, f[0] == "ready")
	case "dead":
		return probed(Liveness, false)
	case "limit":
		return SetDeadline{time.Duration(number(1)) * time.Second}
	case "lost":
		return SandboxLost{}
	case "changed":
		return RestartContainer{Container: f[1]}
	}
	return nil
}

// names returns containers; + marks a sidecar, ! one with a preStop hook.
func names(s ...string) (out []Container) {
	for _, n := range s {
		name := strings.Trim(n, "+!")
		out = append(out, Container{Name: name, Sidecar: strings.Contains(n, "+"), PreStop: strings.Contains(n, "!")})
	}
	return out
}

func TestInitContainerOrder(t *testing.T) {
	l := New(Spec{Init: names("a", "+s", "b"), Containers: names("x", "y"), RestartPolicy: Never})
	machineTest(t, l,
		"0 : start a",
		"1 up a:",
		"2 exit a 0: start s",
		"3 up s: start b",
		"4 up b:",
		"5 exit b 0: start x, start y",
		"6 up x;up y:",
		"7 exit x 0:",
		"8 exit y 0: stop s",
		"9 exit s 0: over", "10 :")
	if l.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", l.Phase())
	}
}

func TestRestartsBackOff(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start x", "1 up x:",
		"2 exit x 1: start x", // the first restart is immediate
		"3 up x:", "4 exit x 1:", "13 :", "14 : start x",
		"15 up x:", "16 exit x 1:", "35 :", "36 : start x",
		// ten minutes of running reset the backoff
		"37 up x:", "637 exit x 1: start x")
	if _, cs := l.Statuses(); cs[0].Restarts != 4 || cs[0].Last == nil {
		t.Errorf("restarts %d", cs[0].Restarts)
	}
}

func TestInitFailureWithRestartPolicyNever(t *testing.T) {
	l := New(Spec{Init: names("a"), Containers: names("x"), RestartPolicy: Never})
	machineTest(t, l, "0 : start a", "1 up a:", "2 exit a 3: over")
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}

func TestDeletionBeforeStart(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l, "0 delete 30: over, gone", "1 :")
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}

func TestDeletionDuringInit(t *testing.T) {
	l := New(Spec{Init: names("a"), Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l, "0 : start a", "1 up a:", "2 delete 30: stop a", "3 exit a 0: over, gone")
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}

func TestResume(t *testing.T) {
	l := Resume(Spec{Containers: names("x"), RestartPolicy: Always}, Running, []Status{{Name: "x", State: ContainerRunning, StartedAt: t0, Restarts: 2}})
	machineTest(t, l, "1 :", "2 exit x 1:", "21 :", "22 : start x")
}
