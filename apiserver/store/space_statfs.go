//go:build unix

package store

import "golang.org/x/sys/unix"

// statfs returns the usage of the file system of dir.
func statfs(dir string) (usage, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	for err == unix.EINTR {
		err = unix.Statfs(dir, &s)
	}
	block := int64(s.Bsize) // the type differs between systems
	return usage{size: int64(s.Blocks) * block, available: int64(s.Bavail) * block}, err
}
