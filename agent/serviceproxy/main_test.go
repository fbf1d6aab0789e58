//go:build linux

package serviceproxy

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestMain runs the tests in a new network namespace, so that they do not affect the host.
func TestMain(m *testing.M) {
	const childEnv = "BERTH_SERVICE_PROXY_TEST"
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	if os.Getenv(childEnv) != "" {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "service proxy tests: setting up the loopback device:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Stdout, c.Stderr, c.Env = os.Stdout, os.Stderr, append(os.Environ(), childEnv+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.Run(); err != nil {
		if c.ProcessState == nil {
			fmt.Fprintln(os.Stderr, "service proxy tests: creating a network namespace:", err)
		}
		os.Exit(1)
	}
}
