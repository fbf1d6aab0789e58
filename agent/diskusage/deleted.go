package diskusage

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// deletedSuffix is the end of the kernel's name of an open or mapped file without a directory entry.
const deletedSuffix = " (deleted)"

// maxDeletedFiles is the maximum number of counted files. It bounds the memory of a measurement.
const maxDeletedFiles = 1 << 20

// MeasureDeleted returns the blocks and inodes of deleted files that the processes still have
// open or mapped; walking directories does not find them. It counts files on overlayfs and on the
// given devices (st_dev), each once. It skips processes that exit, and stops when ctx ends.
//
// MeasureDeleted does not find files whose only descriptor is in an unread Unix socket message.
func MeasureDeleted(ctx context.Context, pids []int, devices ...uint64) Usage {
	s := deletedScan{devices: devices, seen: map[fileID]bool{}}
	for _, pid := range pids {
		for _, task := range separateTasks(pid) {
			if ctx.Err() != nil {
				return s.usage
			}
			s.scanOpen("/proc/" + strconv.Itoa(task) + "/fd")
		}
		s.scanMapped("/proc/" + strconv.Itoa(pid))
	}
	return s.usage
}

// fileID identifies a file on the machine.
type fileID struct{ device, inode uint64 }

// deletedScan is the state of a measurement.
type deletedScan struct {
	devices []uint64
	seen    map[fileID]bool
	usage   Usage
}

// separateTasks returns the process and its threads that do not share its file descriptors.
func separateTasks(pid int) []int {
	out := []int{pid}
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return out
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return out
	}
	const kcmpFiles = 2 // KCMP_FILES
	for _, name := range names {
		task, err := strconv.Atoi(name)
		if err != nil || task == pid {
			continue
		}
		if different, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(task), kcmpFiles, 0, 0, 0); errno != 0 || different != 0 {
			out = append(out, task)
		}
	}
	return out
}

// scanOpen counts the deleted files among file descriptors.
func (s *deletedScan) scanOpen(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(readDirBatch)
		for _, name := range names {
			if link, err := os.Readlink(filepath.Join(dir, name)); err == nil && strings.HasSuffix(link, deletedSuffix) {
				s.count(filepath.Join(dir, name))
			}
		}
		if err != nil {
			return
		}
	}
}

// scanMapped counts the deleted files among the mappings of a process.
func (s *deletedScan) scanMapped(process string) {
	f, err := os.Open(process + "/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSuffix(line, "\n"); strings.HasSuffix(text, deletedSuffix) {
			if addresses, _, ok := strings.Cut(text, " "); ok {
				s.count(process + "/map_files/" + trimZeros(addresses))
			}
		}
		if err != nil {
			return
		}
	}
}

// trimZeros removes leading zeros of both addresses: map_files has none, unlike maps.
func trimZeros(addresses string) string {
	from, to, _ := strings.Cut(addresses, "-")
	return strings.TrimLeft(from, "0") + "-" + strings.TrimLeft(to, "0")
}

// count adds the file behind a link in /proc to the usage if the file is deleted. It reads cached
// attributes, so that it does not wait for a network file system.
func (s *deletedScan) count(link string) {
	var file unix.Statx_t
	const mask = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_INO | unix.STATX_BLOCKS
	if err := unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC, mask, &file); err != nil || file.Nlink > 0 || file.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	id := fileID{unix.Mkdev(file.Dev_major, file.Dev_minor), file.Ino}
	if s.seen[id] || len(s.seen) >= maxDeletedFiles || !s.onMeasuredDevice(link, id.device) {
		return
	}
	s.seen[id] = true
	s.usage.Bytes += int64(file.Blocks) * 512
	s.usage.Inodes++
}

// onMeasuredDevice reports whether the file is on overlayfs or on one of the devices.
func (s *deletedScan) onMeasuredDevice(link string, device uint64) bool {
	if slices.Contains(s.devices, device) {
		return true
	}
	var fs unix.Statfs_t
	return unix.Statfs(link, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}
