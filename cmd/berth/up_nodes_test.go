package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsOfVirtualNodes: what cannot be is refused before anything is made.
func TestFlagsOfVirtualNodes(t *testing.T) {
	for flag, words := range map[string]string{
		"--virtual-nodes=-1":                         "--virtual-nodes -1: must be between 0 and 100",
		"--virtual-memory=much":                      `--virtual-memory "much": must be a quantity above 0`,
		"--virtual-memory=64Mi":                      "--virtual-memory 64Mi: must be at least 256Mi",
		"--virtual-disk=-1Gi":                        `--virtual-disk "-1Gi": must be a quantity above 0`,
		"--virtual-disk=1Mi":                         "--virtual-disk 1Mi: must be at least 64Mi",
		"--virtual-inodes=-5":                        "--virtual-inodes -5: must not be negative",
		"--low-diskspace-threshold-mb=-256":          "--low-diskspace-threshold-mb -256: must be a number of MiB that is not negative",
		"--real-node --runtime-endpoint=/no/where.s": "--real-node: ",
	} {
		t.Run(flag, func(t *testing.T) {
			var f upNodes
			flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
			f.add(flags)
			if err := flags.Parse(strings.Fields(flag)); err != nil {
				t.Fatal(err)
			}
			if err := f.check(); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v, want %q in it", err, words)
			}
		})
	}
}
