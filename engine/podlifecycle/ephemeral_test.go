package podlifecycle

import (
	"fmt"
	"testing"
	"time"
)

// TestEphemeralContainers checks that ephemeral containers start at once, never restart, and have no
// effect on readiness and phase.
func TestEphemeralContainers(t *testing.T) {
	now := time.Unix(1000, 0)
	m := New(Spec{Init: []Container{{Name: "init"}}, Containers: []Container{{Name: "main"}}, RestartPolicy: Always})
	step := func(want string, events ...Event) {
		t.Helper()
		now = now.Add(time.Minute)
		effects, _ := m.Step(now, events...)
		if got := fmt.Sprintf("%+v", effects); got != want {
			t.Fatalf("effects %s, want %s", got, want)
		}
	}
	step("[{Container:init Attempt:0}]")
	step("[{Container:debug Attempt:0}]", AddEphemeral{Container{Name: "debug"}})
	step("[]", AddEphemeral{Container{Name: "debug"}}) // an ephemeral container that exists is ignored
	step("[]", Started{Container: "debug"})
	if m.Initialized() || m.Phase() != Pending {
		t.Errorf("initialized %v, phase %d with an ephemeral container; want false, %d", m.Initialized(), m.Phase(), Pending)
	}
	step("[{Container:main Attempt:0}]", Started{Container: "init"}, Exited{Container: "init"})
	step("[]", Started{Container: "main"})
	if !m.Ready() || m.Phase() != Running {
		t.Errorf("ready %v, phase %d; want true, %d", m.Ready(), m.Phase(), Running)
	}
	step("[]", Exited{Container: "debug", Code: 1})
	if s := m.EphemeralStatuses(); len(s) != 1 || s[0].State != ContainerTerminated || s[0].Restarts != 0 || !m.Ready() {
		t.Errorf("statuses %+v, ready %v; want a terminated container and true", s, m.Ready())
	}
	if init, main := m.Statuses(); len(init) != 1 || len(main) != 1 {
		t.Errorf("%d init containers and %d containers, want 1 and 1", len(init), len(main))
	}
	step("[{Container:second Attempt:0}]", AddEphemeral{Container{Name: "second"}})
	m.Step(now, Started{Container: "second"})
	effects, _ := m.Step(now, Delete{Grace: 30 * time.Second})
	if len(effects) != 2 {
		t.Errorf("effects %v of a deletion, want stops of both running containers", effects)
	}
	if m.Step(now, Exited{Container: "main"}); m.Stopped() {
		t.Error("Stopped is true while an ephemeral container runs, want false")
	}
	if m.Step(now, Exited{Container: "second"}); !m.Stopped() {
		t.Error("Stopped is false after all containers exited, want true")
	}
}

// TestCompletedPodStopsEphemeralContainers checks that a pod whose containers have completed stops its ephemeral
// containers.
func TestCompletedPodStopsEphemeralContainers(t *testing.T) {
	now := time.Unix(1000, 0)
	m := New(Spec{Containers: []Container{{Name: "main"}}, Ephemeral: []Container{{Name: "debug"}}, RestartPolicy: Never})
	m.Step(now)
	m.Step(now, Started{Container: "main"}, Started{Container: "debug"})
	effects, _ := m.Step(now, Exited{Container: "main"})
	if len(effects) != 1 || fmt.Sprintf("%T", effects[0]) != "podlifecycle.Stop" {
		t.Errorf("effects %v, want a stop of the ephemeral container", effects)
	}
	m.Step(now, Exited{Container: "debug", Code: 143})
	if m.Phase() != Succeeded {
		t.Errorf("phase %d, want Succeeded", m.Phase())
	}
}

func TestResumeEphemeralContainer(t *testing.T) {
	spec := Spec{Containers: []Container{{Name: "main"}}, Ephemeral: []Container{{Name: "ended"}, {Name: "new"}}}
	m := Resume(spec, Running, []Status{{Name: "main", State: ContainerRunning}, {Name: "ended", State: ContainerTerminated}})
	effects, _ := m.Step(time.Unix(1000, 0))
	if got := fmt.Sprintf("%+v", effects); got != "[{Container:new Attempt:0}]" {
		t.Errorf("effects %s, want the start of new", got)
	}
}
