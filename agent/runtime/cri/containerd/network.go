package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/agent/network"
)

// cniResultDir is where CNI plugins store their results, independent of the configuration.
const cniResultDir = "/var/lib/cni/results"

// masquerade replaces the source address of packets that leave the pod network with the machine's address. Packets to
// pods of other nodes on this machine keep their source address. CNI's bridge plugin cannot make this exception.
func masquerade(o Options) error {
	prefix, err := netip.ParsePrefix(o.PodCIDR)
	if err != nil || !prefix.Addr().Is4() {
		return nil // no network, or IPv6
	}
	return network.Masquerade(o.Bridge, prefix)
}

// protectLoopback blocks access from pods to services on the host's loopback addresses. CNI's
// portmap plugin lets the bridge accept such packets and does not drop them.
func protectLoopback(o Options) error {
	prefix, err := netip.ParsePrefix(o.PodCIDR)
	if err != nil || !prefix.Addr().Is4() {
		return nil // no network, or IPv6, for which the kernel has no such setting
	}
	if err := network.ProtectLoopback(o.Bridge); err != nil {
		return fmt.Errorf("containerd: blocking access of pods to the host's loopback addresses: %w", err)
	}
	return nil
}

// removeOrphanedNetns removes network namespaces that no process uses. A daemon that was killed while
// it created or removed a pod leaves them. Call it only while no daemon runs.
func removeOrphanedNetns(state string) error {
	points, err := mounts.Below(state)
	if err != nil {
		return err
	}
	points = slices.DeleteFunc(points, func(point string) bool { return filepath.Base(filepath.Dir(point)) != "netns" })
	if len(points) == 0 {
		return nil
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return err
	}
	used := map[uint64]bool{}
	for _, link := range links {
		if id, err := inode(link); err == nil { // otherwise the process has exited
			used[id] = true
		}
	}
	var errs []error
	for _, point := range points {
		id, err := inode(point)
		if err == nil && used[id] {
			continue
		}
		if err == nil {
			err = mounts.Unmount([]string{point}, true)
		}
		if err == nil {
			err = os.Remove(point)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeDamagedResults removes results of CNI plugins that are not JSON. A plugin that is killed while
// it writes its result leaves such a file, which makes every removal of the pod fail. Call it only
// while no daemon runs.
func removeDamagedResults(dir, bridge string) error {
	if bridge == "" {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, bridge+"-*-eth0"))
	errs := []error{err}
	for _, path := range paths {
		result, err := os.ReadFile(path)
		if err == nil && !json.Valid(result) {
			err = os.Remove(path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func inode(path string) (uint64, error) {
	var s unix.Stat_t
	err := unix.Stat(path, &s)
	return s.Ino, err
}

// removeNetwork removes the parts of the pod network that remain if the CNI plugins are not called:
// firewall rules, the bridge and result files.
func removeNetwork(bridge string) error {
	if bridge == "" {
		return nil
	}
	errs := []error{network.RemoveRules(context.Background(), func(name, _ string) bool { return name == bridge })}
	if _, err := os.Stat("/sys/class/net/" + bridge); err == nil {
		if out, err := exec.Command("ip", "link", "delete", bridge).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("removing network device %s: %w: %s", bridge, err, out))
		}
	}
	results, err := filepath.Glob(filepath.Join(cniResultDir, bridge+"-*-eth0"))
	errs = append(errs, err)
	for _, result := range results {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(result), bridge+"-"), "-eth0")
		for _, path := range []string{result, filepath.Join(cniResultDir, "cni-loopback-"+id+"-lo")} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
