//go:build linux

package virtualnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/loopdisk"
	"github.com/berthproject/berth/agent/mounts"
)

// imageSuffix is the suffix of disk image files.
const imageSuffix = ".img"

// makeDisk creates a sparse file with an ext4 file system and mounts it at dir.
func makeDisk(image, dir string, bytes, inodes int64) error {
	file, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(bytes); err != nil {
		return err
	}
	// No blocks are reserved for root, so pods can use the whole disk. Tables are initialized
	// immediately, so that the disk does not fill in the background.
	args := []string{"-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"}
	if inodes > 0 {
		args = append(args, "-N", strconv.FormatInt(inodes, 10))
	}
	program, err := findMkfs()
	if err != nil {
		return err
	}
	if out, err := exec.Command(program, append(args, image)...).CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4 %s: %w: %s", image, err, strings.TrimSpace(string(out)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return loopdisk.Mount(file, dir, unix.MS_NOATIME)
}

func findMkfs() (string, error) {
	program, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		return "", errors.New("mkfs.ext4 not found: virtual nodes require it (Debian package e2fsprogs)")
	}
	return program, nil
}

// unmountBelow unmounts all mounts at dir or below, latest first.
func unmountBelow(dir string) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		points, err := mounts.At(dir)
		if err != nil || len(points) == 0 {
			return err
		}
		// After the deadline, detach mounts that are still busy.
		err = mounts.Unmount(points, time.Now().After(deadline))
		if err != nil && time.Now().After(deadline.Add(time.Second)) {
			return err
		}
	}
}

func wrapError(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
