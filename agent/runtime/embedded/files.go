package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime"
)

// shmSize is the size of /dev/shm in bytes: containerd's default.
const shmSize = 64 << 20

// writeFiles writes the files that a sandbox shares with its containers.
func (s *sandbox) writeFiles() error {
	hostname := s.record.Config.GetHostname()
	if hostname == "" {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		hostname = name
	}
	if err := os.WriteFile(filepath.Join(s.dir, "hostname"), []byte(hostname+"\n"), 0o644); err != nil {
		return err
	}
	resolv := runtime.ResolvConf(s.record.Config.GetDnsConfig())
	if resolv == "" {
		text, err := os.ReadFile("/etc/resolv.conf")
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		resolv = string(text)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "resolv.conf"), []byte(resolv), 0o644); err != nil {
		return err
	}
	if s.hostIPC() {
		return nil
	}
	if err := os.MkdirAll(s.shmDir(), 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=1777,size=%d", shmSize)
	if err := unix.Mount("shm", s.shmDir(), "tmpfs", unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOEXEC, options); err != nil {
		return fmt.Errorf("mounting %s: %w", s.shmDir(), err)
	}
	return nil
}

// shmDir returns the host directory of the pod's /dev/shm.
func (s *sandbox) shmDir() string {
	if s.hostIPC() {
		return "/dev/shm"
	}
	return filepath.Join(s.dir, "shm")
}

// unmountShm unmounts the pod's own /dev/shm. It is idempotent.
func (s *sandbox) unmountShm() error {
	if s.hostIPC() {
		return nil
	}
	err := unix.Unmount(s.shmDir(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err == nil || err == unix.EINVAL || err == unix.ENOENT {
		return nil
	}
	return fmt.Errorf("unmounting %s: %w", s.shmDir(), err)
}
