package network_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// open opens a network with 5 pod IPs in 198.51.100.0/29 and removes it when the test ends.
func open(t *testing.T) (network.Options, *network.Network) {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating network devices requires root")
	}
	o := network.Options{Dir: filepath.Join(t.TempDir(), "addresses"), CIDR: "198.51.100.0/29", Bridge: fmt.Sprintf("bn%d", os.Getpid()), Log: klog.Background()}
	t.Cleanup(func() {
		if err := network.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
		if _, err := net.InterfaceByName(o.Bridge); err == nil {
			t.Errorf("bridge %s exists after Remove, want it removed", o.Bridge)
		}
		if rules, err := exec.Command("iptables-save").Output(); err == nil && strings.Contains(string(rules), o.Bridge) {
			t.Errorf("iptables rules after Remove\n%swant none of %s", rules, o.Bridge)
		}
	})
	n, err := network.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return o, n
}

// namespace returns the network namespace of a helper process.
func namespace(t *testing.T) *os.File {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestAddresses checks which IPs are assigned, released and reassigned, and the error if none is free.
func TestAddresses(t *testing.T) {
	o, n := open(t)
	if reopened, err := network.Open(o); err != nil || reopened == nil {
		t.Fatalf("Open of an existing network: %v", err)
	}
	ns := namespace(t)
	a, err := n.Attach("one-with-a-long-id", ns)
	if err != nil || a != netip.MustParseAddr("198.51.100.2") {
		t.Fatalf("Attach: %v, %v, want 198.51.100.2", a, err)
	}
	if err := n.Detach("one-with-a-long-id"); err != nil {
		t.Fatal(err)
	}
	// A released IP is not reassigned next, even after a restart.
	if n, err = network.Open(o); err != nil {
		t.Fatal(err)
	}
	b, err := n.Attach("two", ns)
	if err != nil || b != netip.MustParseAddr("198.51.100.3") {
		t.Fatalf("Attach: %v, %v, want 198.51.100.3", b, err)
	}
	var lastErr error
	for i := range 5 {
		_, lastErr = n.Attach(fmt.Sprintf("more%d", i), namespace(t))
	}
	if lastErr == nil || !strings.Contains(lastErr.Error(), "no free IP in 198.51.100.0/29") {
		t.Errorf("Attach without a free IP: error %v, want \"no free IP in 198.51.100.0/29\"", lastErr)
	}
	if err := n.GC(func(id string) bool { return id == "two" }); err != nil {
		t.Fatal(err)
	}
	if remaining, err := os.ReadDir(o.Dir); err != nil || len(remaining) != 1 || remaining[0].Name() != "198.51.100.3" {
		t.Errorf("assigned IPs after GC %v, %v, want only 198.51.100.3", remaining, err)
	}
	for range 2 {
		if err := n.Detach("two"); err != nil {
			t.Error(err)
		}
	}
}

// TestRangeChange checks that Attach uses the new range after a change. The bridge keeps its old
// address while pods use the old range.
func TestRangeChange(t *testing.T) {
	o, n := open(t)
	if _, err := n.Attach("old", namespace(t)); err != nil {
		t.Fatal(err)
	}
	addresses := func() (out []string) {
		d, err := net.InterfaceByName(o.Bridge)
		if err != nil {
			t.Fatal(err)
		}
		list, err := d.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if p := netip.MustParsePrefix(a.String()); p.Addr().Is4() {
				out = append(out, p.String())
			}
		}
		slices.Sort(out)
		return out
	}
	o.CIDR = "198.51.100.128/29"
	n, err := network.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := n.Attach("new", namespace(t)); err != nil || a.String() != "198.51.100.130" {
		t.Errorf("Attach: %v, %v, want 198.51.100.130", a, err)
	}
	if got, want := addresses(), []string{"198.51.100.1/29", "198.51.100.129/29"}; !slices.Equal(got, want) {
		t.Errorf("bridge addresses %v, want %v", got, want)
	}
	if err := n.Detach("old"); err != nil {
		t.Fatal(err)
	}
	if _, err := network.Open(o); err != nil {
		t.Fatal(err)
	}
	if got, want := addresses(), []string{"198.51.100.129/29"}; !slices.Equal(got, want) {
		t.Errorf("bridge addresses without pods in the old range %v, want %v", got, want)
	}
}

// TestAttachWithoutNamespace checks that a failed Attach releases the IP.
func TestAttachWithoutNamespace(t *testing.T) {
	o, n := open(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := n.Attach("unattached", null); err == nil {
		t.Error("Attach succeeded for a file that is not a namespace, want an error")
	}
	if remaining, err := os.ReadDir(o.Dir); err != nil || len(remaining) != 0 {
		t.Errorf("assigned IPs %v, %v, want none", remaining, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	if _, err := network.Open(network.Options{Dir: t.TempDir(), CIDR: "nonsense", Bridge: "b"}); err == nil || !strings.Contains(err.Error(), `CIDR "nonsense"`) {
		t.Errorf("Open with an invalid CIDR: error %v, want `CIDR \"nonsense\"`", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	_, err := network.Open(network.Options{Dir: t.TempDir(), CIDR: "198.51.100.0/29", Bridge: "lo"})
	if err == nil || !strings.Contains(err.Error(), "not a bridge") {
		t.Errorf("Open with an existing device: error %v, want \"not a bridge\"", err)
	}
	if addrs, err := net.InterfaceAddrs(); err != nil || len(addrs) == 0 || addrs[0].String() != "127.0.0.1/8" {
		t.Errorf("addresses of the existing device %v, %v, want 127.0.0.1/8", addrs, err)
	}
}
