package nodeagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// lock keeps other agents out of the agent's directory until the process ends: two would start each
// other's pods twice and remove each other's files.
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

// nodeNameFile has the name of a directory's node in it.
const nodeNameFile = "node-name"

// SavedName is what the node of an agent's directory was called last, "" if there was none: by it its pods are found
// again, whatever the machine is called meanwhile.
func SavedName(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, nodeNameFile))
	return strings.TrimSpace(string(text))
}

func saveName(root, name string) error {
	if SavedName(root) == name {
		return nil
	}
	return writeFileAtomic(filepath.Join(root, nodeNameFile), name+"\n")
}

// writeFileAtomic writes a file whole or not at all: half a name is another node's.
func writeFileAtomic(file, text string) error {
	fresh := file + ".new"
	err := os.WriteFile(fresh, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(fresh, file)
	}
	if err != nil {
		_ = os.Remove(fresh)
	}
	return err
}

// criEndpointFile is in the directory of a node whose pods run in a container runtime that speaks CRI. It names its socket.
const criEndpointFile = "runtime-endpoint"

// UsedCRI says whether pods of an agent's directory ran in a container runtime that speaks CRI, when the node was up last: another
// one would run them besides.
func UsedCRI(root string) bool {
	_, err := os.Stat(filepath.Join(root, criEndpointFile))
	return err == nil
}

// UsedEmbedded says whether there are pods of an agent's directory in the embedded runtime.
func UsedEmbedded(root string) bool {
	found, err := os.ReadDir(filepath.Join(root, "runtime", "sandboxes"))
	return err == nil && len(found) > 0
}

// saveRuntime says in the directory what runs pods.
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

// cgroupLockTimeout is how long it takes at most until an agent that was killed has let go.
const cgroupLockTimeout = 3 * time.Second

// lockCgroup keeps other agents out of what the node is confined to, whatever their directories are: one removes the
// pods below that its API server does not have. The lock is on the cgroup's directory.
func lockCgroup(host *cgroup.Host, group string) (unlock func(), err error) {
	dir := host.Dir("memory", group)
	if dir == "" {
		return func() {}, nil // cgroups that limit nothing: whoever needs them says so
	}
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil // it is told where it is used
	}
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(cgroupLockTimeout); ; time.Sleep(cgroupLockTimeout / 30) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			break
		}
	}
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("cgroup %s: it is a node already, of another agent on this machine (berth up --real-node, or berth agent), whose pods would be removed: stop that one, or use berth up --virtual-nodes, or berth agent --cgroup with a group of its own", group)
	}
	return nil, fmt.Errorf("cgroup %s: %s: %w", group, dir, err)
}
