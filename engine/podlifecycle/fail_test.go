package podlifecycle

import (
	"testing"
	"time"
)

func failed(t *testing.T, l *Machine, reason string) {
	t.Helper()
	if f := l.Failure(); l.Phase() != Failed || f == nil || f.Reason != reason {
		t.Errorf("phase %v, failure %+v, want Failed with %s", l.Phase(), f, reason)
	}
}

func TestFailedPodTerminatesWithinGracePeriod(t *testing.T) {
	l := New(Spec{Init: names("+s"), Containers: names("!x"), RestartPolicy: Always})
	machineTest(t, l, "0 : start s", "1 up s: start x", "2 up x:", "3 fail Evicted 10: hook x", "4 hooked x: stop x")
	if l.Phase() != Running || l.Failure() != nil {
		t.Error("the phase is Failed while a container runs")
	}
	machineTest(t, l, "6 fail Late 60:", "7 exit x 0: stop s", "8 exit s 0: over", "9 :")
	failed(t, l, "Evicted")
	machineTest(t, l, "10 delete 30: gone")
	failed(t, l, "Evicted")
}

func TestFailKillNow(t *testing.T) {
	l := New(Spec{Init: names("+!s"), Containers: names("!x", "y"), RestartPolicy: Always})
	machineTest(t, l, "0 : start s", "1 up s: start x, start y", "2 up x;up y:", "3 fail Evicted -1: kill s, kill x, kill y", "4 exit x 137;exit s 137;exit y 137: over")
	failed(t, l, "Evicted")
}

func TestRejectedPodNeverStarts(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l, "0 fail OutOfcpu: over", "1 delete 30: gone")
	failed(t, l, "OutOfcpu")
}

func TestTerminalPodDoesNotFail(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Never})
	machineTest(t, l, "0 : start x", "1 up x:", "2 exit x 0: over", "3 fail Evicted 0:")
	if l.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", l.Phase())
	}
}

func TestActiveDeadline(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Always, Deadline: time.Minute, Grace: 20 * time.Second})
	_, wake := l.Step(t0)
	if want := t0.Add(time.Minute); !wake.Equal(want) {
		t.Errorf("wakes at %v, want %v", wake, want)
	}
	machineTest(t, l, "1 up x:", "59 :", "60 : stop x", "79 :", "80 : kill x", "81 exit x 137: over")
	failed(t, l, "DeadlineExceeded")
	l = New(Spec{Containers: names("x"), RestartPolicy: Always, Deadline: time.Hour})
	machineTest(t, l, "0 : start x", "1 up x:", "10 limit 20:", "20 : stop x")
}

func TestContainerWaitingReason(t *testing.T) {
	l := New(Spec{Containers: names("x", "y"), RestartPolicy: Always})
	machineTest(t, l, "0 : start x, start y", "1 waits x ErrImagePull;up y:")
	if _, cs := l.Statuses(); cs[0].State != ContainerStarting || cs[0].Reason != "ErrImagePull" || l.Phase() != Pending {
		t.Errorf("%+v, phase %v", cs[0], l.Phase())
	}
	machineTest(t, l, "2 up x:")
	if _, cs := l.Statuses(); cs[0].State != ContainerRunning || cs[0].Reason != "" || l.Phase() != Running {
		t.Errorf("%+v, phase %v", cs[0], l.Phase())
	}
	// A container that was still starting terminates when it is stopped.
	machineTest(t, l, "3 exit x 1: start x", "4 delete 30: stop x, stop y", "5 exit x 137;exit y 0: over, gone")
}

func TestLostSandboxRestartsInitContainers(t *testing.T) {
	spec := Spec{Init: names("a", "+s"), Containers: names("x"), RestartPolicy: Always}
	up := []string{"0 : start a", "1 up a:", "2 exit a 0: start s", "3 up s: start x", "4 up x:"}
	l := New(spec)
	machineTest(t, l, append(up, "5 lost: start a", "6 exit s 137;exit x 137:")...)
	if _, cs := l.Statuses(); cs[0].State != ContainerTerminated || cs[0].BackOff {
		t.Errorf("the container waits for a backoff instead of the init containers: %+v", cs[0])
	}
	machineTest(t, l, "7 up a:", "8 exit a 0: start s", "9 up s: start x", "10 up x:")
	if init, cs := l.Statuses(); init[0].Restarts != 1 || cs[0].Restarts != 1 || cs[0].Last.Code != 137 || !l.Initialized() {
		t.Errorf("%+v %+v", init, cs)
	}
	spec.RestartPolicy = Never
	l = New(spec)
	machineTest(t, l, append(up, "5 lost:", "6 exit s 137;exit x 137: over")...)
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}

func TestChangedContainerRestarts(t *testing.T) {
	l := New(Spec{Containers: names("x", "y"), RestartPolicy: Never})
	machineTest(t, l, "0 : start x, start y", "1 up x;up y:", "2 changed x: stop x", "3 exit x 0: start x", "4 up x:", "5 exit x 0;exit y 0: over")
	if l.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", l.Phase())
	}
}

func TestContainerRestartPolicy(t *testing.T) {
	never, onFailure := Never, OnFailure
	l := New(Spec{Containers: []Container{
		{Name: "x", RestartPolicy: &never, RestartRules: []RestartRule{{Codes: []int32{42}}}},
		{Name: "y", RestartPolicy: &onFailure},
	}, RestartPolicy: Always})
	machineTest(t, l, "0 : start x, start y", "1 up x;up y:", "2 exit x 42: start x", "3 up x:", "4 exit x 7:", "5 exit y 1: start y", "6 up y:", "7 exit y 0: over")
	if l.Phase() != Failed {
		t.Errorf("phase %v, want Failed", l.Phase())
	}
}
