package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// TestTerminationSignals checks that SIGHUP ends a command unless it is ignored, as with nohup.
func TestTerminationSignals(t *testing.T) {
	handlesHangup := func() bool { return slices.Contains(terminationSignals(), os.Signal(syscall.SIGHUP)) }
	if !signal.Ignored(syscall.SIGHUP) && !handlesHangup() {
		t.Error("SIGHUP not ignored: got no SIGHUP among the termination signals, want it")
	}
	if signal.Ignored(syscall.SIGHUP) {
		return // the tests run under nohup
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if handlesHangup() {
		t.Error("SIGHUP ignored: got SIGHUP among the termination signals, want it absent")
	}
}
