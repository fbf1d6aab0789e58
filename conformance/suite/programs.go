package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/conformance/testcluster"
)

// Entries of /etc/passwd and /etc/group in all images.
const (
	accounts = "root:x:0:0:root:/root:/bin/sh\nbin:x:1:1:bin:/bin:/bin/false\ndaemon:x:2:2:daemon:/usr/sbin:/bin/false\nmail:x:8:8:mail:/var/mail:/bin/false\n"
	groups   = "root:x:0:\nbin:x:1:\ndaemon:x:2:\ntty:x:5:\nmail:x:8:\n"
)

// baseFiles returns the files of the lowest layer: busybox with its applets, bash, and as /bin/sh the program shell,
// which runs one of the two.
func baseFiles(ctx context.Context, shell string) ([]oci.File, error) {
	busybox, err := testcluster.FindProgram("busybox")
	if err != nil {
		return nil, err
	}
	bash, err := testcluster.FindProgram("bash-static")
	if err != nil {
		return nil, err
	}
	applets, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the applets of %s: %w", busybox, err)
	}
	var files []oci.File
	for path, source := range map[string]string{"/bin/busybox": busybox, "/bin/bash": bash, "/bin/sh": shell} {
		f, err := testcluster.File(path, source, 0o755)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" && applet != "sh" && applet != "ash" {
			files = append(files, oci.File{Path: "/bin/" + applet, Link: "busybox"})
		}
	}
	for _, dir := range []string{"/dev", "/home", "/mnt", "/opt", "/proc", "/root", "/run", "/sys", "/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/share", "/var/spool"} {
		files = append(files, oci.File{Path: dir, Dir: true, Mode: 0o755})
	}
	return append(files,
		oci.File{Path: "/tmp", Dir: true, Mode: 0o1777},
		oci.File{Path: "/usr/bin/env", Link: "/bin/busybox"},
		oci.File{Path: "/etc/passwd", Mode: 0o644, Data: []byte(accounts)},
		oci.File{Path: "/etc/group", Mode: 0o644, Data: []byte(groups)},
		oci.File{Path: "/etc/shadow", Mode: 0o640, Data: []byte("root:*:::::::\n")},
		oci.File{Path: "/etc/nsswitch.conf", Mode: 0o644, Data: []byte("hosts: files dns\n")},
		oci.File{Path: "/etc/os-release", Mode: 0o644, Data: []byte("ID=standin\nNAME=standin\n")},
	), nil
}

// clientPrograms returns the network programs that specs run, with their libraries. It reads them from this machine.
func clientPrograms(ctx context.Context) ([]oci.File, error) {
	files := []oci.File{{Path: "/bin/ip", Link: "/usr/bin/ip"}, {Path: "/bin/nc", Link: "/usr/bin/nc"}}
	added := map[string]bool{}
	for command, name := range map[string]string{"curl": "curl", "dig": "dig", "getent": "getent", "ip": "ip", "nc": "nc.openbsd", "ss": "ss", "wget": "wget"} {
		path, err := testcluster.FindProgram(name)
		if err != nil {
			return nil, err
		}
		program, err := testcluster.File("/usr/bin/"+command, path, 0o755)
		if err != nil {
			return nil, err
		}
		files = append(files, program)
		libraries, err := sharedLibraries(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, l := range libraries {
			if added[l] {
				continue
			}
			added[l] = true
			f, err := testcluster.File(l, l, 0o755)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// sharedLibraries returns the paths of a program's shared libraries and of its loader.
func sharedLibraries(ctx context.Context, program string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	return parseLibraries(string(out)), nil
}

// parseLibraries returns the paths in the output of ldd.
func parseLibraries(ldd string) []string {
	var paths []string
	for _, line := range strings.Split(ldd, "\n") {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/") {
				paths = append(paths, filepath.Clean(word))
				break
			}
		}
	}
	return paths
}
