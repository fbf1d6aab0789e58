package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// TestTerminationSignals checks that SIGHUP ends a command, except with nohup.
func TestTerminationSignals(t *testing.T) {
	hears := func() bool { return slices.Contains(terminationSignals(), os.Signal(syscall.SIGHUP)) }
	if !signal.Ignored(syscall.SIGHUP) && !hears() {
		t.Error("SIGHUP is not handled")
	}
	if signal.Ignored(syscall.SIGHUP) {
		return // the tests run under nohup
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if hears() {
		t.Error("a terminal that is closed ends what was started with nohup")
	}
}
