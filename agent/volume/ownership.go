package volume

import (
	"io/fs"
	"os"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// noGroup stands for a pod without fsGroup.
const noGroup = -1

// group is the pod's fsGroup.
func group(pod *corev1.Pod) int {
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		return int(*s.FSGroup)
	}
	return noGroup
}

// shared is the mode of a file that is read with a group.
func shared(mode fs.FileMode, group int) fs.FileMode {
	if group == noGroup {
		return mode
	}
	return mode | 0o440
}

// own gives a directory its mode, and to the group, which files made in it get too.
func own(dir string, mode fs.FileMode, group int) error {
	if group != noGroup {
		if err := os.Lchown(dir, -1, group); err != nil {
			return err
		}
		mode |= fs.ModeSetgid | 0o550
	}
	return os.Chmod(dir, mode) // whatever the umask is
}

// hand gives all that is in a writable volume to the group, unless its root shows that
// this was done. Links are changed, not followed: other pods may write there meanwhile.
func hand(dir string, group int) error {
	if group == noGroup || handed(dir, group) {
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
		return root.Chmod(path, writable(info.Mode()))
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
	return os.Chmod(dir, writable(info.Mode())) // last: it says that the rest is done
}

// writable adds what a group needs to write.
func writable(mode fs.FileMode) fs.FileMode {
	keep := mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if mode.IsDir() {
		return keep | 0o770 | fs.ModeSetgid
	}
	return keep | 0o660
}

func handed(dir string, group int) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Gid) == group && info.Mode()&fs.ModeSetgid != 0
}
