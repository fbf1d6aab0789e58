package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlagErrors checks that an error names the flag or command and what is valid.
func TestFlagErrors(t *testing.T) {
	missingFile := filepath.Join(t.TempDir(), "nofile.yaml")
	for _, tc := range []struct{ command, want string }{
		{"up --bogus", "unknown flag: --bogus (see `berth up --help`)"},
		{"up --node 3", "unknown flag: --node: did you mean --nodes or --node-cpu or --nodes-file? (see `berth up --help`)"},
		{"up -Q", "unknown shorthand flag: 'Q' in -Q (see `berth up --help`)"},
		{"drain n7 --waht-if", "unknown flag: --waht-if: did you mean --what-if? (see `berth drain --help`)"},
		{"drian", "unknown command \"drian\" for \"berth\": did you mean drain? (see `berth --help`)"},
		{"hlep", "unknown command \"hlep\" for \"berth\": did you mean help? (see `berth --help`)"},
		{"get pods", "unknown command \"get\" for \"berth\": did you mean `berth kubectl get`? (see `berth --help`)"},
		{"zones extra", "argument \"extra\": `berth zones` accepts no arguments (see `berth zones --help`)"},
		{"drain n1 --dry-run=client", "--dry-run is a flag of kubectl drain that `berth drain` does not have: use --what-if"},
		{"explain pdo x", "unknown command \"pdo\" for \"berth explain\": did you mean pod? (see `berth explain --help`)"},
		{"explain thing", "unknown command \"thing\" for \"berth explain\" (see `berth explain --help`)"},
		{"explain pod/web-1", "unknown command \"pod/web-1\" for \"berth explain\": did you mean `berth explain pod web-1`? (see `berth explain --help`)"},
		{"image lod app.tar", "unknown command \"lod\" for \"berth image\": did you mean load? (see `berth image --help`)"},
		{"descheduler covert p.yaml", "unknown command \"covert\" for \"berth descheduler\": did you mean convert? (see `berth descheduler --help`)"},
		{"controller taint", ": did you mean tainteviction?"},
		{"controller --upstream-off disrupton", ": did you mean disruption?"},
		{"descheduler --policy p.yaml", "unknown flag: --policy: did you mean --policy-config-file? (see `berth descheduler --help`)"},
		{"up --nodes many", `--nodes "many": must be a whole number`},
		{"up --page-listen 0.0.0.0:8444", `--page-listen "0.0.0.0:8444": must be a loopback address with a port`},
		{"image load", "image load: 0 arguments given: requires exactly one tar file, for example"},
		{"image rm", "image rm: no image given: requires one or more, for example"},
		{"image pull", "image pull: no image given: requires one or more, for example"},
		{"descheduler convert", "descheduler convert: 0 arguments given: requires exactly one policy file"},
		{"explain pod a/b/c", `explain pod: "a/b/c": must be NAME, NAMESPACE/NAME or pod/NAME, for example`},
		{"explain displacement /a", `explain displacement: "/a": must be NAME, NAMESPACE/NAME or pod/NAME`},
		{"explain pod", "explain pod: 0 arguments given: requires exactly one pod, for example"},
		{"config --config " + missingFile, "--config " + missingFile + ": no such file or directory"},
	} {
		cmd := rootCommand()
		cmd.SetArgs(strings.Fields(tc.command))
		cmd.SetOut(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), tc.want) && !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("berth %s: got error %v, want %q in it", tc.command, err, tc.want)
		}
	}
}
