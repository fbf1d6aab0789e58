package network_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// fakeIptables sets PATH to a directory with programs that record their arguments and fail with an exit
// status. calls returns the recorded lines.
func fakeIptables(t *testing.T, status string, programs ...string) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range programs {
		text := "#!/bin/sh\necho \"$0 $*\" >> " + dir + "/calls\necho refused >&2\nexit " + status + "\n"
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return func() string { text, _ := os.ReadFile(dir + "/calls"); return string(text) }
}

// TestUnreadableRules checks that RemoveRules returns an error if it cannot read the rules.
func TestUnreadableRules(t *testing.T) {
	selectAll := func(string, string) bool { return true }
	fakeIptables(t, "1", "iptables-save", "iptables-restore")
	if _, err := os.Stat("/proc/net/netfilter"); err != nil {
		testkit.SkipOrFail(t, "netfilter", "the kernel has no firewall")
	}
	if err := network.RemoveRules(context.Background(), selectAll); err == nil || !strings.Contains(err.Error(), "iptables-save") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("RemoveRules: error %v, want \"refused\" of iptables-save", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := network.RemoveRules(context.Background(), selectAll); err != nil {
		t.Errorf("RemoveRules without iptables: %v, want no error", err)
	}
}

// TestForwardRules checks that Open adds the rules that accept pod traffic regardless of the default
// policy.
func TestForwardRules(t *testing.T) {
	o, _ := open(t)
	if err := network.CheckPortMapping(); err != nil {
		testkit.SkipOrFail(t, "iptables", err.Error())
	}
	out, err := exec.Command("iptables", "-w", "-S", "FORWARD").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"-A FORWARD -i ", "-A FORWARD -o "} {
		if strings.Count(string(out), rule+o.Bridge) != 1 {
			t.Errorf("rules\n%swant %q once", out, rule+o.Bridge)
		}
	}
}

// TestUnknownRulesAreNotAdded checks that Open does not add rules if it cannot find out whether they
// exist.
func TestUnknownRulesAreNotAdded(t *testing.T) {
	open(t)
	t.Run("busy", func(t *testing.T) {
		calls := fakeIptables(t, "4", "iptables")
		o := network.Options{Dir: t.TempDir() + "/addresses", CIDR: "198.51.100.8/29", Bridge: "bnbusy"}
		if _, err := network.Open(o); err != nil {
			t.Fatal(err)
		}
		if text := calls(); strings.Count(text, " -C ") != 4 || strings.Contains(text, " -I ") || strings.Contains(text, " -A ") {
			t.Errorf("calls:\n%swant only -C, 4 times", text)
		}
		if err := network.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
}

// TestTearDown checks that TearDown keeps the last assigned IP and returns an error if its context is
// canceled.
func TestTearDown(t *testing.T) {
	o, n := open(t)
	ctx := context.Background()
	first, err := n.Attach("one", namespace(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := network.TearDown(ctx, o); err != nil {
		t.Fatal(err)
	}
	if n, err = network.Open(o); err != nil {
		t.Fatal(err)
	}
	if second, err := n.Attach("two", namespace(t)); err != nil || second != first.Next() {
		t.Errorf("IP after TearDown %v, %v, want %v", second, err, first.Next())
	}
	if network.CheckPortMapping() == nil {
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if err := network.TearDown(canceled, o); err == nil {
			t.Error("TearDown with a canceled context succeeded, want an error")
		}
	}
}
