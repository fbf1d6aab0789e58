package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestVerbosity checks that every command has -v, whose value must be a number from 0 to 10.
func TestVerbosity(t *testing.T) {
	for _, cmd := range rootCommand().Commands() {
		if cmd.DisableFlagParsing {
			continue // kubectl has its own, the test workload none
		}
		if f := cmd.InheritedFlags().ShorthandLookup("v"); f == nil || f.Name != "v" {
			t.Errorf("berth %s: got flag %v, want -v", cmd.Name(), f)
		}
	}
	var flags pflag.FlagSet
	addVerbosity(&flags)
	for _, level := range []string{"high", "-1", "11", "1.5"} {
		if err := flags.Parse([]string{"-v=" + level}); err == nil || !strings.Contains(err.Error(), "must be a whole number between 0 and 10") {
			t.Errorf("-v=%s: got error %v, want one with the accepted values", level, err)
		}
	}
}
