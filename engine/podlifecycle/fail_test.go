package podlifecycle

import (
	"testing"
	"time"
)

// checkFailed checks that the pod is Failed with a reason.
func checkFailed(t *testing.T, m *Machine, reason string) {
	t.Helper()
	if f := m.Failure(); m.Phase() != Failed || f == nil || f.Reason != reason {
		t.Errorf("phase %v, failure %+v, want Failed with %s", m.Phase(), f, reason)
	}
}

func TestFailedPodTerminatesWithinGracePeriod(t *testing.T) {
	m := New(Spec{Init: newContainers("+s"), Containers: newContainers("!x"), RestartPolicy: Always})
	runScript(t, m, "0 : start s", "1 started s: start x", "2 started x:", "3 fail Evicted 10: prestop x", "4 prestop-done x: stop x")
	if m.Phase() != Running || m.Failure() != nil {
		t.Errorf("phase %v, failure %+v while a container runs, want Running and none", m.Phase(), m.Failure())
	}
	runScript(t, m, "6 fail Late 60:", "7 exit x 0: stop s", "8 exit s 0: stopped", "9 :")
	checkFailed(t, m, "Evicted")
	runScript(t, m, "10 delete 30: removed")
	checkFailed(t, m, "Evicted")
}

func TestFailKillNow(t *testing.T) {
	m := New(Spec{Init: newContainers("+!s"), Containers: newContainers("!x", "y"), RestartPolicy: Always})
	runScript(t, m, "0 : start s", "1 started s: start x, start y", "2 started x;started y:", "3 fail Evicted -1: kill s, kill x, kill y", "4 exit x 137;exit s 137;exit y 137: stopped")
	checkFailed(t, m, "Evicted")
}

func TestRejectedPodNeverStarts(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m, "0 fail OutOfcpu: stopped", "1 delete 30: removed")
	checkFailed(t, m, "OutOfcpu")
}

func TestTerminalPodDoesNotFail(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Never})
	runScript(t, m, "0 : start x", "1 started x:", "2 exit x 0: stopped", "3 fail Evicted 0:")
	if m.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", m.Phase())
	}
}

func TestActiveDeadline(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always, Deadline: time.Minute, Grace: 20 * time.Second})
	_, wake := m.Step(t0)
	if want := t0.Add(time.Minute); !wake.Equal(want) {
		t.Errorf("wake time %v, want %v", wake, want)
	}
	runScript(t, m, "1 started x:", "59 :", "60 : stop x", "79 :", "80 : kill x", "81 exit x 137: stopped")
	checkFailed(t, m, "DeadlineExceeded")
	m = New(Spec{Containers: newContainers("x"), RestartPolicy: Always, Deadline: time.Hour})
	runScript(t, m, "0 : start x", "1 started x:", "10 deadline 20:", "20 : stop x")
}

func TestContainerWaitingReason(t *testing.T) {
	m := New(Spec{Containers: newContainers("x", "y"), RestartPolicy: Always})
	runScript(t, m, "0 : start x, start y", "1 waiting x ErrImagePull;started y:")
	if _, cs := m.Statuses(); cs[0].State != ContainerStarting || cs[0].Reason != "ErrImagePull" || m.Phase() != Pending {
		t.Errorf("status %+v, phase %v, want a starting container with ErrImagePull, Pending", cs[0], m.Phase())
	}
	runScript(t, m, "2 started x:")
	if _, cs := m.Statuses(); cs[0].State != ContainerRunning || cs[0].Reason != "" || m.Phase() != Running {
		t.Errorf("status %+v, phase %v, want a running container without a reason, Running", cs[0], m.Phase())
	}
	// A container that was still starting terminates when it is stopped.
	runScript(t, m, "3 exit x 1: start x", "4 delete 30: stop x, stop y", "5 exit x 137;exit y 0: stopped, removed")
}

func TestLostSandboxRestartsInitContainers(t *testing.T) {
	spec := Spec{Init: newContainers("a", "+s"), Containers: newContainers("x"), RestartPolicy: Always}
	startup := []string{"0 : start a", "1 started a:", "2 exit a 0: start s", "3 started s: start x", "4 started x:"}
	m := New(spec)
	runScript(t, m, append(startup, "5 sandbox-lost: start a", "6 exit s 137;exit x 137:")...)
	if _, cs := m.Statuses(); cs[0].State != ContainerTerminated || cs[0].BackOff {
		t.Errorf("container %+v, want one that waits for the init containers", cs[0])
	}
	runScript(t, m, "7 started a:", "8 exit a 0: start s", "9 started s: start x", "10 started x:")
	if init, cs := m.Statuses(); init[0].Restarts != 1 || cs[0].Restarts != 1 || cs[0].Last.Code != 137 || !m.Initialized() {
		t.Errorf("init containers %+v, containers %+v; want one restart each", init, cs)
	}
	spec.RestartPolicy = Never
	m = New(spec)
	runScript(t, m, append(startup, "5 sandbox-lost:", "6 exit s 137;exit x 137: stopped")...)
	if m.Phase() != Failed {
		t.Errorf("phase %v, want Failed", m.Phase())
	}
}

func TestChangedContainerRestarts(t *testing.T) {
	m := New(Spec{Containers: newContainers("x", "y"), RestartPolicy: Never})
	runScript(t, m, "0 : start x, start y", "1 started x;started y:", "2 spec-changed x: stop x", "3 exit x 0: start x", "4 started x:", "5 exit x 0;exit y 0: stopped")
	if m.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", m.Phase())
	}
}

func TestContainerRestartPolicy(t *testing.T) {
	never, onFailure := Never, OnFailure
	m := New(Spec{Containers: []Container{
		{Name: "x", RestartPolicy: &never, RestartRules: []RestartRule{{Codes: []int32{42}}}},
		{Name: "y", RestartPolicy: &onFailure},
	}, RestartPolicy: Always})
	runScript(t, m, "0 : start x, start y", "1 started x;started y:", "2 exit x 42: start x", "3 started x:", "4 exit x 7:", "5 exit y 1: start y", "6 started y:", "7 exit y 0: stopped")
	if m.Phase() != Failed {
		t.Errorf("phase %v, want Failed", m.Phase())
	}
}
