package podlifecycle

import "testing"

func TestDeletionStopsThenKills(t *testing.T) {
	m := New(Spec{Init: newContainers("+s"), Containers: newContainers("x", "y"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start s", "1 started s: start x, start y", "2 started x;started y:",
		"10 delete 30: stop x, stop y",
		"11 exit x 0:",
		"20 delete 60:", // cannot be lengthened
		"40 : kill y, stop s",
		"41 exit y 137:",
		"42 : kill s", // 2 s after the stop request
		"43 exit s 137: stopped, removed")
}

func TestSidecarsStopLastInReverseOrder(t *testing.T) {
	m := New(Spec{Init: newContainers("+r", "+s"), Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start r", "1 started r: start s", "2 started s: start x", "3 started x:",
		"10 delete 30: stop x", "12 exit x 0: stop s", "13 exit s 0: stop r", "14 exit r 0: stopped, removed")
}

func TestPreStopCountsAgainstGracePeriod(t *testing.T) {
	m := New(Spec{Init: newContainers("+!s"), Containers: newContainers("!x", "y"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start s", "1 started s: start x, start y", "2 started x;started y:",
		"10 delete 30: prestop x, stop y, prestop s", // a sidecar's hook runs immediately
		"15 exit y 0:",
		"20 prestop-done x: stop x",
		"21 prestop-done s:",
		"40 : kill x, stop s",
		"41 exit x 137;exit s 0: stopped, removed")
}

func TestPreStopOverrunLeavesTwoSeconds(t *testing.T) {
	m := New(Spec{Containers: newContainers("!x"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start x", "1 started x:", "10 delete 5: prestop x", "14 :", "15 : stop x", "16 prestop-done x:", "17 : kill x", "18 exit x 137: stopped, removed")
}

func TestShorterGracePeriodKillsEarlier(t *testing.T) {
	m := New(Spec{Containers: newContainers("x", "!y"), RestartPolicy: Always})
	runScript(t, m,
		"0 : start x, start y", "1 started x;started y:", "10 delete 60: stop x, prestop y", "20 delete 5:", "25 : kill x, stop y", "27 : kill y", "28 exit x 137;exit y 137: stopped, removed")
}

func TestZeroGracePeriodIsTwoSeconds(t *testing.T) {
	m := New(Spec{Containers: newContainers("!x"), RestartPolicy: Always})
	runScript(t, m, "0 : start x", "1 started x:", "10 delete 0: stop x", "12 : kill x", "13 exit x 137: stopped, removed")
}

func TestDeletedPodIsReadyUntilContainerEnds(t *testing.T) {
	m := New(Spec{Containers: newContainers("x"), RestartPolicy: Always})
	runScript(t, m, "0 : start x", "1 started x:", "10 delete 30: stop x")
	if !m.Ready() {
		t.Error("Ready is false while the container runs, want true")
	}
	runScript(t, m, "15 exit x 0: stopped, removed")
	if m.Ready() {
		t.Error("Ready is true after the container has exited, want false")
	}
}

func TestSidecarsOfFinishedPodHaveGracePeriod(t *testing.T) {
	m := New(Spec{Init: newContainers("+s"), Containers: newContainers("x"), RestartPolicy: Never, Grace: 5e9})
	runScript(t, m, "0 : start s", "1 started s: start x", "2 started x:", "10 exit x 0: stop s", "14 :", "15 : kill s", "16 exit s 137: stopped")
	if m.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", m.Phase())
	}
}
