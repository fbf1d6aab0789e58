//go:build linux

package nodeagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// lock locks the agent's directory until unlock is called or the process exits. Two agents with one
// directory would start each other's pods twice and remove each other's files.
func lock(root string) (unlock func(), err error) {
	file := filepath.Join(root, "lock")
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("--root-dir %s: in use by another agent (it holds %s): stop it, or choose another directory", root, file)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

// saveRuntime records in the agent's directory which runtime runs the pods. It writes the endpoint
// to criEndpointFile, or removes that file if the runtime is embedded.
func (o *Options) saveRuntime() error {
	file := filepath.Join(o.Root, criEndpointFile)
	if o.Embedded == nil {
		return writeFileAtomic(file, o.Endpoint+"\n")
	}
	if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// cgroupLockTimeout bounds the wait for a killed agent to release its lock.
const cgroupLockTimeout = 3 * time.Second

// lockCgroup locks the node's cgroup directory against agents with other directories. An agent
// removes all pods below its cgroup that its API server does not have.
func lockCgroup(host *cgroup.Host, group string) (unlock func(), err error) {
	dir := host.Dir("memory", group)
	if dir == "" {
		return func() {}, nil // the memory controller is not mounted, which later steps report
	}
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil // the cgroup does not exist, which later steps report
	}
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(cgroupLockTimeout); ; time.Sleep(cgroupLockTimeout / 30) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			break
		}
	}
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("cgroup %s: in use by another agent on this machine (berth up --real-node or berth agent), whose pods would be removed: stop that agent, use berth up --virtual-nodes, or use berth agent --cgroup with another cgroup", group)
	}
	return nil, fmt.Errorf("cgroup %s: %s: %w", group, dir, err)
}
