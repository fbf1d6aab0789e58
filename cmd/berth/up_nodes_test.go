package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/localnodes"
)

// TestUpNodeFlags checks that invalid flags of real and virtual nodes are rejected with the accepted values.
func TestUpNodeFlags(t *testing.T) {
	for flag, want := range map[string]string{
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
		"--low-diskspace-threshold-mb=-256":          "--low-diskspace-threshold-mb -256: must be a number of MiB of 0 or more",
		"--real-node --runtime-endpoint=/no/where.s": "--real-node: ",
		"--allow-simulated":                          "--allow-simulated: has no effect without --real-node or --virtual-nodes",
		"--runtime=cri":                              "--runtime: has no effect without --real-node or --virtual-nodes",
		"--runtime-endpoint=/no/where.s":             "--runtime-endpoint: has no effect without --real-node",
	} {
		t.Run(flag, func(t *testing.T) {
			var f upLocalNodes
			flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
			f.addFlags(flags)
			if err := flags.Parse(strings.Fields(flag)); err != nil {
				t.Fatal(err)
			}
			f.setDefaults(t.TempDir(), false)
			if err := f.validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		})
	}
}

// TestFlagDependencyErrorIsDeterministic checks that of several flags without effect, always the same is named.
func TestFlagDependencyErrorIsDeterministic(t *testing.T) {
	var f upLocalNodes
	flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
	f.addFlags(flags)
	if err := flags.Parse([]string{"--virtual-memory=1Gi", "--virtual-disk=1Gi", "--runtime=cri", "--cluster-domain=a.example"}); err != nil {
		t.Fatal(err)
	}
	const want = "--cluster-domain: has no effect without --real-node or --virtual-nodes"
	for range 20 {
		if err := f.checkFlagDependencies(); err == nil || err.Error() != want {
			t.Fatalf("got error %v, want %q", err, want)
		}
	}
}

// TestRealNodeKeepsItsName checks that a renamed machine keeps its node name, so that its
// pods are found, and that an invalid host name is rejected.
func TestRealNodeKeepsItsName(t *testing.T) {
	home := t.TempDir()
	f := upLocalNodes{realNode: true, runtime: localnodes.RuntimeAuto, endpoint: defaultEndpoint}
	if f.setDefaults(home, false); f.nodeName != hostNodeName() {
		t.Errorf("got first node name %q, want %q", f.nodeName, hostNodeName())
	}
	if err := errors.Join(os.Mkdir(filepath.Join(home, "agent"), 0o755), os.WriteFile(filepath.Join(home, "agent", "node-name"), []byte("former-name\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if f.setDefaults(home, false); !slices.Equal(f.nodeNames(), []string{"former-name"}) {
		t.Errorf("after a change of the host name: got nodes %v, want former-name", f.nodeNames())
	}
	f.nodeName = "my_laptop"
	if err := f.chooseRuntimes(); err == nil || !strings.Contains(err.Error(), `--real-node: the host name "my_laptop" is not a valid node name`) {
		t.Errorf("with an invalid host name: got error %v, want one with the name", err)
	}
}

// TestNetworkNotes checks the notes about missing network features.
func TestNetworkNotes(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver 192.0.2.53\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	for name, tc := range map[string]struct {
		f    upLocalNodes
		want string // prefix of the note
	}{
		"simulated nodes":      {upLocalNodes{}, ""},
		"containerd":           {upLocalNodes{realNode: true}, ""},
		"the embedded runtime": {upLocalNodes{realNode: true, embedded: embeddedNodes{realNode: true}}, "iptables is not installed"},
	} {
		tc.f.addNetworkNotes(&config.Kubelet{ResolvConf: conf})
		if got := strings.Join(tc.f.notes, "|"); (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got notes %q, want prefix %q", name, got, tc.want)
		}
	}
}

// TestFallBackToSimulated checks that nodes are simulated only with --allow-simulated, and
// that the fallback clears everything about virtual nodes.
func TestFallBackToSimulated(t *testing.T) {
	cause := unavailableError{errors.New("--virtual-nodes: no loop devices"), "virtual-nodes"}
	f := upLocalNodes{realNode: true, virtualNodes: 2, embedded: embeddedNodes{virtualNodes: true}}
	var out strings.Builder
	if err := f.fallBackToSimulated(&out, cause); err == nil || err.Error() != "--virtual-nodes: no loop devices; with --allow-simulated berth up uses simulated nodes instead" {
		t.Errorf("without --allow-simulated: got error %v, want one that names the flag", err)
	}
	f.allowSimulated = true
	if err := f.fallBackToSimulated(&out, errors.New("--virtual-memory 1Mi: too small")); err == nil || f.virtualNodes != 2 {
		t.Errorf("with an invalid flag: got error %v, %d virtual nodes, want the error and 2", err, f.virtualNodes)
	}
	if err := f.fallBackToSimulated(&out, cause); err != nil {
		t.Fatal(err)
	}
	if f.virtualNodes != 0 || f.embedded.virtualNodes || !f.realNode || !strings.Contains(out.String(), "berth: warning: --virtual-nodes: no loop devices. Using the machine as one node") {
		t.Errorf("got %d virtual nodes, embedded: %t, real: %t; want only a real node and a warning; output: %s", f.virtualNodes, f.embedded.virtualNodes, f.realNode, out.String())
	}
	if err := f.fallBackToSimulated(&out, unavailableError{errors.New("--real-node: requires root"), "real-node"}); err != nil || f.enabled() || !strings.Contains(out.String(), "Using simulated nodes instead") {
		t.Errorf("got error %v, nodes that run containers: %t; want no error and none; output: %s", err, f.enabled(), out.String())
	}
}

func TestPrintRemainingPods(t *testing.T) {
	var out bytes.Buffer
	f := &upLocalNodes{}
	f.setDefaults("/data", false)
	printRemainingPods(&out, "m", 0, f.remainingPodsHint("m"))
	if out.Len() > 0 {
		t.Errorf("without pods: got %q, want no output", out.String())
	}
	printRemainingPods(&out, "m", 2, f.remainingPodsHint("m"))
	for _, want := range []string{"node m: 2 pods keep running; berth up --real-node --data-dir /data continues", "--kubeconfig /data/kubeconfig delete pods"} {
		if text := out.String(); !strings.Contains(text, want) {
			t.Errorf("with two pods: got %q, want %q in it", text, want)
		}
	}
	f.setDefaults("/data", true)
	if text := f.remainingPodsHint("m"); !strings.Contains(text, "--data-dir /data removes them") {
		t.Errorf("with --ephemeral: got %q, want that the next start removes the pods", text)
	}
}
