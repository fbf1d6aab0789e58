package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
)

// checkHostPath checks that path has the type that the pod requires, and creates it for the
// *OrCreate types.
func checkHostPath(path string, kind *corev1.HostPathType) error {
	if kind == nil || *kind == corev1.HostPathUnset {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		switch *kind {
		case corev1.HostPathDirectoryOrCreate:
			return errors.Join(os.MkdirAll(path, 0o755), setOwnership(path, 0o755, noFSGroup))
		case corev1.HostPathFileOrCreate:
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			return f.Close()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	matches := err == nil
	var expected string
	switch *kind {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		expected, matches = "a directory", matches && info.IsDir()
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		expected, matches = "a file", matches && info.Mode().IsRegular()
	case corev1.HostPathSocket:
		expected, matches = "a socket file", matches && info.Mode()&fs.ModeSocket != 0
	case corev1.HostPathCharDev:
		expected, matches = "a character device", matches && info.Mode()&fs.ModeCharDevice != 0
	case corev1.HostPathBlockDev:
		expected, matches = "a block device", matches && info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0
	default:
		return fmt.Errorf("hostPath.type %q: unknown; use Directory, DirectoryOrCreate, File, FileOrCreate, Socket, CharDevice or BlockDevice", *kind)
	}
	if !matches {
		return fmt.Errorf("hostPath type check failed: %s is not %s", path, expected)
	}
	return nil
}
