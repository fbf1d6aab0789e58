package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountsBelow are the mount points at and below dir, in the order in which they
// were mounted.
func mountsBelow(dir string) ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape(fields[4]); point == dir || strings.HasPrefix(point, dir+"/") {
			out = append(out, point)
		}
	}
	return out, nil
}

// unescape reads a path as mountinfo writes it: blanks and backslashes as \ooo.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out = append(out, byte(n))
				i += 3
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// mountMemory mounts a tmpfs on dir, with this mode and group, unless one is there. size 0 is the
// kernel's default, half of the machine's memory.
func mountMemory(dir string, size int64, mode fs.FileMode, group int) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	for _, p := range points {
		if p == dir {
			return nil
		}
	}
	options := fmt.Sprintf("mode=%04o", mode)
	if group != noGroup {
		options = fmt.Sprintf("mode=%04o,gid=%d", mode|unix.S_ISGID|0o550, group)
	}
	if size > 0 {
		options += fmt.Sprintf(",size=%d", size)
	}
	// Kernels before 6.3, and user namespaces, do not know noswap.
	if unix.Mount("tmpfs", dir, "tmpfs", 0, options+",noswap") == nil {
		return nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		return fmt.Errorf("mounting tmpfs on %s: %w", dir, err)
	}
	return nil
}

// unmount takes away what is mounted on a directory. What still uses it keeps it
// until it ends, out of sight.
func unmount(dir string) error {
	err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(dir, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
	}
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) { // EINVAL: nothing is mounted there
		return fmt.Errorf("unmounting %s: %w", dir, err)
	}
	return nil
}
