package loopdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CheckRequirements returns an error if this process cannot mount disks.
func CheckRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("loop devices require root")
	}
	control, err := openControl()
	if err != nil {
		return err
	}
	return control.Close()
}

func openControl() (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the control device for loop devices: %w", err)
	}
	return control, nil
}

// Mount mounts the ext4 file system in a file at dir, with MS_ flags. The kernel releases the loop
// device with the last mount.
func Mount(image *os.File, dir string, flags uintptr) error {
	device, err := findDevice(image)
	if err != nil {
		return err
	}
	if device != nil { // an earlier mount of the file is still in use
		defer device.Close()
		return wrapError(unix.Mount(device.Name(), dir, "ext4", flags, ""), device.Name(), dir)
	}
	control, err := openControl()
	if err != nil {
		return err
	}
	defer control.Close()
	// Retry if another process takes the free device first.
	for range 50 {
		index, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("loop devices: getting a free device: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", index)
		device, err := openDevice(name, index)
		if err != nil {
			return err
		}
		config := unix.LoopConfig{Fd: uint32(image.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			err = unix.Mount(name, dir, "ext4", flags, "")
		}
		_ = device.Close()
		if err == nil || !errors.Is(err, unix.EBUSY) {
			return wrapError(err, name, dir)
		}
	}
	return errors.New("loop devices: all attempts failed, other processes took each free device")
}

func wrapError(err error, device, dir string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mounting %s at %s: %w", device, dir, err)
}

// findDevice returns the open loop device of a file, or nil if it has none.
func findDevice(image *os.File) (*os.File, error) {
	var target unix.Stat_t
	if err := unix.Fstat(int(image.Fd()), &target); err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		name := filepath.Base(filepath.Dir(dir))
		index, err := strconv.Atoi(strings.TrimPrefix(name, "loop"))
		if err != nil {
			continue
		}
		device, err := openDevice("/dev/"+name, index)
		if err != nil {
			continue // released in the meantime
		}
		// The kernel does not release an open device, so the status stays valid.
		info, err := unix.IoctlLoopGetStatus64(int(device.Fd()))
		if err == nil && info.Inode == target.Ino && info.Device == target.Dev {
			return device, nil
		}
		_ = device.Close()
	}
	return nil, nil
}

// openDevice opens a loop device and creates its device file if there is no udev.
func openDevice(name string, index int) (*os.File, error) {
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
