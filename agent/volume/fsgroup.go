package volume

import (
	"io/fs"
	"os"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// noFSGroup is the group of a pod without fsGroup.
const noFSGroup = -1

// fsGroup returns the pod's fsGroup, or noFSGroup.
func fsGroup(pod *corev1.Pod) int {
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		return int(*s.FSGroup)
	}
	return noFSGroup
}

// groupReadable adds read permissions for the owner and the group, unless group is noFSGroup.
func groupReadable(mode fs.FileMode, group int) fs.FileMode {
	if group == noFSGroup {
		return mode
	}
	return mode | 0o440
}

// setOwnership sets the mode of a directory and its group, which new files inherit.
func setOwnership(dir string, mode fs.FileMode, group int) error {
	if group != noFSGroup {
		if err := os.Lchown(dir, -1, group); err != nil {
			return err
		}
		mode |= fs.ModeSetgid | 0o550
	}
	return os.Chmod(dir, mode) // independent of the umask
}

// applyFSGroup gives all files of a writable volume to the group, unless the root shows that
// this was done. Symbolic links are not followed, because other pods may write concurrently.
func applyFSGroup(dir string, group int) error {
	if group == noFSGroup || hasFSGroup(dir, group) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if err := root.Lchown(path, -1, group); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return root.Chmod(path, groupWritable(info.Mode()))
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := os.Lchown(dir, -1, group); err != nil {
		return err
	}
	return os.Chmod(dir, groupWritable(info.Mode())) // last: marks the walk as complete
}

// groupWritable adds the permissions that a group needs to write.
func groupWritable(mode fs.FileMode) fs.FileMode {
	keep := mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if mode.IsDir() {
		return keep | 0o770 | fs.ModeSetgid
	}
	return keep | 0o660
}

// hasFSGroup reports whether applyFSGroup has completed for a directory.
func hasFSGroup(dir string, group int) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Gid) == group && info.Mode()&fs.ModeSetgid != 0
}
