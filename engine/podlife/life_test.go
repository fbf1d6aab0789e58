package podlife

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
		case PreStop:
			out = append(out, "hook "+e.Container)
		case Stop:
			out = append(out, "stop "+e.Container)
		case Kill:
			out = append(out, "kill "+e.Container)
		case Gone:
			out = append(out, "gone")
		}
	}
	return strings.Join(out, ", ")
}

// story drives a life through lines "seconds event: effects".
func story(t *testing.T, l *Life, lines ...string) {
	t.Helper()
	for _, line := range lines {
		var at int
		var what string
		head, want, _ := strings.Cut(line, ":")
		fmt.Sscanf(head, "%d", &at)
		_, what, _ = strings.Cut(head, " ")
		var events []Event
		for _, w := range strings.Split(what, ";") {
			f := strings.Fields(w)
			switch {
			case len(f) == 0:
			case f[0] == "up":
				events = append(events, Started{Container: f[1]})
			case f[0] == "exit":
				var code int32
				fmt.Sscan(f[2], &code)
				events = append(events, Exited{Container: f[1], Code: code})
			case f[0] == "hooked":
				events = append(events, PreStopped{f[1]})
			case f[0] == "delete":
				var s int
				fmt.Sscan(f[1], &s)
				events = append(events, Delete{time.Duration(s) * time.Second})
			default:
				t.Fatalf("unknown event %q", w)
			}
		}
		got, _ := l.Step(t0.Add(time.Duration(at)*time.Second), events...)
		if words(got) != strings.TrimSpace(want) {
			t.Fatalf("%s\n got %s", line, words(got))
		}
	}
}

// names makes containers; + marks a sidecar, ! one with a preStop hook.
func names(s ...string) (out []Container) {
	for _, n := range s {
		name := strings.Trim(n, "+!")
		out = append(out, Container{Name: name, Sidecar: strings.Contains(n, "+"), PreStop: strings.Contains(n, "!")})
	}
	return out
}

func TestInitContainersRunInOrderAndSidecarsStay(t *testing.T) {
	l := New(Spec{Init: names("a", "+s", "b"), Containers: names("x", "y"), Restart: Never})
	story(t, l,
		"0 : start a",
		"1 up a:",
		"2 exit a 0: start s",
		"3 up s: start b",
		"4 up b:",
		"5 exit b 0: start x, start y",
		"6 up x;up y:",
		"7 exit x 0:",
		"8 exit y 0: stop s",
		"9 exit s 0:")
	if l.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", l.Phase())
	}
}

func TestRestartsBackOff(t *testing.T) {
	l := New(Spec{Containers: names("x"), Restart: Always})
	story(t, l,
		"0 : start x", "1 up x:",
		"2 exit x 1: start x", // the first restart is immediate
		"3 up x:", "4 exit x 1:", "13 :", "14 : start x",
		"15 up x:", "16 exit x 1:", "35 :", "36 : start x",
		// ten minutes of running forgive
		"37 up x:", "637 exit x 1: start x")
	if _, cs := l.Statuses(); cs[0].Restarts != 4 || cs[0].Last == nil {
		t.Errorf("restarts %d", cs[0].Restarts)
	}
}

func TestInitFailureFailsAPodThatNeverRestarts(t *testing.T) {
	l := New(Spec{Init: names("a"), Containers: names("x"), Restart: Never})
	story(t, l, "0 : start a", "1 up a:", "2 exit a 3:")
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}

func TestDeletionOfAPodThatNeverStarted(t *testing.T) {
	l := New(Spec{Containers: names("x"), Restart: Always})
	story(t, l, "0 delete 30: gone", "1 :")
}

func TestResumeGoesOnWhereItWas(t *testing.T) {
	l := Resume(Spec{Containers: names("x"), Restart: Always}, Running, []Status{{Name: "x", State: Up, Started: t0, Restarts: 2}})
	story(t, l, "1 :", "2 exit x 1:", "21 :", "22 : start x")
}
