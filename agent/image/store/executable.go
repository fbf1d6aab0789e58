package store

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfExe is the running program, even if its file was removed.
const selfExe = "/proc/self/exe"

// fileIdentity returns a string that changes when the file changes. It uses only the file's metadata.
func fileIdentity(info fs.FileInfo) string {
	id := fmt.Sprintf("size %d, modified %d", info.Size(), info.ModTime().UnixNano())
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id += fmt.Sprintf(", inode %d of %d", stat.Ino, stat.Dev)
	}
	return id
}

// linkOrCopy creates to as a hard link to the target of from, or as a copy if that is
// impossible. A link uses no disk space and no page cache. linkOrCopy returns the size of the copy
// in bytes, or 0 for a link.
//
// It links only files that everyone can read and execute and only the owner can write, because a
// hard link shares the mode.
func linkOrCopy(from, to string) (int64, error) {
	info, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	if info.Mode().Perm()&0o555 == 0o555 && info.Mode().Perm()&0o022 == 0 &&
		unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW) == nil {
		return 0, nil
	}
	source, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if err := unix.IoctlFileClone(int(out.Fd()), int(source.Fd())); err != nil { // reflinks are not supported by all file systems
		if _, err := io.Copy(out, source); err != nil {
			return 0, err
		}
	}
	if err := out.Chmod(0o755); err != nil {
		return 0, err
	}
	return info.Size(), out.Close()
}

// sharedLibraries returns the files that the program needs besides itself: the dynamic loader
// and the libraries it has loaded. A static program needs none.
func sharedLibraries() ([]file, error) {
	program, err := elf.Open(selfExe)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	loader, err := interpreter(program)
	if loader == "" || err != nil {
		return nil, err
	}
	loaded, err := mappedFiles()
	if err != nil {
		return nil, err
	}
	var out []file
	target, err := realPath(loader)
	if err != nil {
		return nil, err
	}
	if target != loader {
		out = append(out, file{path: loader, link: target})
	}
	for _, mapped := range loaded {
		out = append(out, file{path: mapped, mode: 0o755, from: mapped})
		library, err := elf.Open(mapped)
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", mapped, err)
		}
		names, err := library.DynString(elf.DT_SONAME)
		library.Close()
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", mapped, err)
		}
		// The loader looks libraries up by their soname.
		if len(names) == 1 && names[0] != path.Base(mapped) && path.Join(path.Dir(mapped), names[0]) != loader {
			out = append(out, file{path: path.Join(path.Dir(mapped), names[0]), link: path.Base(mapped)})
		}
	}
	return out, nil
}

// interpreter returns the path of a program's dynamic loader, "" if the program is static.
func interpreter(program *elf.File) (string, error) {
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			data, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			return strings.TrimRight(string(data), "\x00"), err
		}
	}
	return "", nil
}

// mappedFiles returns the executable files mapped into this process, except the program.
func mappedFiles() ([]string, error) {
	program, err := os.Readlink(selfExe)
	if err != nil {
		return nil, err
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	seen := map[string]bool{program: true}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "/", 2) // the path is the last field and may contain spaces
		if len(fields) != 2 || !strings.Contains(fields[0], "r-xp") || seen["/"+fields[1]] {
			continue
		}
		name := "/" + fields[1]
		seen[name] = true
		if strings.HasSuffix(name, " (deleted)") {
			return nil, fmt.Errorf("library %s: replaced since berth was started: restart berth", name)
		}
		out = append(out, name)
	}
	return out, lines.Err()
}

// realPath resolves symbolic links.
func realPath(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}
