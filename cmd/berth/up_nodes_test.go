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
		"--virtual-memory=1Gi":                       "--virtual-memory: has no effect without --virtual-nodes",
		"--virtual-nodes=1 --virtual-memory=64Mi":    "--virtual-memory 64Mi: must be at least 256Mi",
		"--virtual-nodes=1 --virtual-memory=900Ti":   "--virtual-memory 900Ti: must be at most the machine's ",
		"--virtual-disk=-1Gi":                        `--virtual-disk "-1Gi": must be a quantity above 0`,
		"--virtual-nodes=1 --virtual-disk=1Mi":       "--virtual-disk 1Mi: must be at least 64Mi",
		"--virtual-nodes=1 --virtual-disk=900Ti":     "--virtual-disk 900Ti: must be at most 16Ti",
		"--virtual-nodes=1 --virtual-disk=200Mi":     "--virtual-disk 200Mi: must be above --low-diskspace-threshold-mb 256",
		"--virtual-nodes=1 --virtual-inodes=3":       "--virtual-inodes 3: must be at least 500",
		"--low-diskspace-threshold-mb=-256":          "--low-diskspace-threshold-mb -256: must be a number of MiB that is not negative",
		"--real-node --runtime-endpoint=/no/where.s": "--real-node: ",
		"--runtime=cri":                              "--runtime: has no effect without --real-node or --virtual-nodes",
		"--runtime-endpoint=/no/where.s":             "--runtime-endpoint: has no effect without --real-node",
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
