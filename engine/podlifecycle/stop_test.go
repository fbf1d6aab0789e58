package podlifecycle

import "testing"

func TestDeletionStopsThenKills(t *testing.T) {
	l := New(Spec{Init: names("+s"), Containers: names("x", "y"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start s", "1 up s: start x, start y", "2 up x;up y:",
		"10 delete 30: stop x, stop y",
		"11 exit x 0:",
		"20 delete 60:", // cannot be lengthened
		"40 : kill y, stop s",
		"41 exit y 137:",
		"42 : kill s", // 2 s after the stop request
		"43 exit s 137: over, gone")
}

func TestSidecarsStopLastInReverseOrder(t *testing.T) {
	l := New(Spec{Init: names("+r", "+s"), Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start r", "1 up r: start s", "2 up s: start x", "3 up x:",
		"10 delete 30: stop x", "12 exit x 0: stop s", "13 exit s 0: stop r", "14 exit r 0: over, gone")
}

func TestPreStopCountsAgainstGracePeriod(t *testing.T) {
	l := New(Spec{Init: names("+!s"), Containers: names("!x", "y"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start s", "1 up s: start x, start y", "2 up x;up y:",
		"10 delete 30: hook x, stop y, hook s", // a sidecar's hook runs immediately
		"15 exit y 0:",
		"20 hooked x: stop x",
		"21 hooked s:",
		"40 : kill x, stop s",
		"41 exit x 137;exit s 0: over, gone")
}

func TestPreStopOverrunLeavesTwoSeconds(t *testing.T) {
	l := New(Spec{Containers: names("!x"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start x", "1 up x:", "10 delete 5: hook x", "14 :", "15 : stop x", "16 hooked x:", "17 : kill x", "18 exit x 137: over, gone")
}

func TestShorterGracePeriodKillsEarlier(t *testing.T) {
	l := New(Spec{Containers: names("x", "!y"), RestartPolicy: Always})
	machineTest(t, l,
		"0 : start x, start y", "1 up x;up y:", "10 delete 60: stop x, hook y", "20 delete 5:", "25 : kill x, stop y", "27 : kill y", "28 exit x 137;exit y 137: over, gone")
}

func TestZeroGracePeriodIsTwoSeconds(t *testing.T) {
	l := New(Spec{Containers: names("!x"), RestartPolicy: Always})
	machineTest(t, l, "0 : start x", "1 up x:", "10 delete 0: stop x", "12 : kill x", "13 exit x 137: over, gone")
}

func TestDeletedPodIsReadyUntilContainerEnds(t *testing.T) {
	l := New(Spec{Containers: names("x"), RestartPolicy: Always})
	machineTest(t, l, "0 : start x", "1 up x:", "10 delete 30: stop x")
	if !l.Ready() {
		t.Error("the container still runs but is not ready")
	}
	machineTest(t, l, "15 exit x 0: over, gone")
	if l.Ready() {
		t.Error("the container has exited but is ready")
	}
}

func TestSidecarsOfFinishedPodHaveGracePeriod(t *testing.T) {
	l := New(Spec{Init: names("+s"), Containers: names("x"), RestartPolicy: Never, Grace: 5e9})
	machineTest(t, l, "0 : start s", "1 up s: start x", "2 up x:", "10 exit x 0: stop s", "14 :", "15 : kill s", "16 exit s 137: over")
	if l.Phase() != Succeeded {
		t.Errorf("phase %v, want Succeeded", l.Phase())
	}
}
