package virtualnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/mounts"
)

// imageSuffix ends the names of the files that hold disks.
const imageSuffix = ".img"

// makeDisk makes a sparse file of bytes with an ext4 filesystem and mounts it at dir.
func makeDisk(image, dir string, bytes, inodes int64) error {
	file, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(bytes); err != nil {
		return err
	}
	// No blocks are kept for root: what pods may use is what there is. Tables are
	// made at once, so that a node does not fill its disk in the background.
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
	return mountLoop(file, dir)
}

// findMkfs is the program that makes file systems.
func findMkfs() (string, error) {
	program, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		return "", errors.New("mkfs.ext4 is not found: virtual nodes need it (Debian: e2fsprogs)")
	}
	return program, nil
}

// mountLoop mounts a filesystem in a file at dir. The loop device is let go with the mount.
func mountLoop(file *os.File, dir string) error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("loop devices: %w", err)
	}
	defer control.Close()
	// Between being told of a free device and taking it another process may take it.
	for range 50 {
		index, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("loop devices: none is free: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", index)
		device, err := openLoop(name, index)
		if err != nil {
			return err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			err = unix.Mount(name, dir, "ext4", unix.MS_NOATIME, "")
		}
		_ = device.Close()
		if err == nil || !errors.Is(err, unix.EBUSY) {
			return wrapError(err, "mounting %s at %s", name, dir)
		}
	}
	return errors.New("loop devices: others take each that is free")
}

// openLoop opens a loop device; where nothing makes device files for new ones, it does.
func openLoop(name string, index int) (*os.File, error) {
	device, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		const loopMajor = 7
		if err := unix.Mknod(name, unix.S_IFBLK|0o660, int(unix.Mkdev(loopMajor, uint32(index)))); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		device, err = os.OpenFile(name, os.O_RDWR, 0)
	}
	return device, err
}

// unmountBelow unmounts all that is mounted at dir or below, the last first.
func unmountBelow(dir string) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		points, err := mounts.At(dir)
		if err != nil || len(points) == 0 {
			return err
		}
		// Who still looks at one keeps it, in the end.
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
