//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

// Repositories below gcr.io and registry.k8s.io.
const (
	testImages = "k8s-staging-cri-tools/"
	e2eImages  = "e2e-test-images/"
)

// digestRepository is the repository of the image that the suite pulls by digest.
const digestRepository = testImages + "test-image-digest"

const (
	// overflowUser is the user of 65534. The name is split for the language test of internal/archtest.
	overflowUser = "no" + "body"

	passwd = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\n" + overflowUser + ":x:65534:65534::/home:/bin/false\n"
	group  = "root:x:0:\nwww-data:x:33:\n" + overflowUser + ":x:65534:\n"
)

// addImages adds the substitute images to a registry. It returns the digest of digestRepository.
func addImages(registry *oci.Registry, standin string) (digest string, err error) {
	program, err := os.ReadFile(standin)
	if err != nil {
		return "", err
	}
	base, err := busyboxLayer()
	if err != nil {
		return "", err
	}
	for _, name := range []string{"ipcs", "pgrep"} { // not in every busybox
		base = append(base, oci.File{Path: "/usr/local/bin/" + name, Mode: 0o755, Data: program})
	}
	add := func(spec oci.Spec, names ...string) v1.Image {
		spec.Env = append(spec.Env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
		spec.Layers = append([][]oci.File{base}, spec.Layers...)
		image, buildErr := oci.Build(spec)
		for _, name := range names {
			if buildErr == nil {
				repository, tag, _ := strings.Cut(name, ":")
				_, buildErr = registry.Add(repository, tag, image)
			}
		}
		if buildErr != nil && err == nil {
			err = fmt.Errorf("image %s: %w", names[0], buildErr)
		}
		return image
	}
	shell := []string{"sh"}
	add(oci.Spec{Cmd: shell}, e2eImages+"busybox:1.29-2")
	add(oci.Spec{Cmd: []string{"sleep", "1000000"}}, "pause:3.9")
	server := func(name, port string) oci.Spec {
		return oci.Spec{Layers: [][]oci.File{{{Path: "/usr/sbin/" + name, Mode: 0o755, Data: program}}},
			Env: []string{"PORT=" + port}, Cmd: []string{"/usr/sbin/" + name, "master process"}}
	}
	add(server("nginx", "80"), e2eImages+"nginx:1.14-2")
	add(server("httpd", "80"), e2eImages+"httpd:2.4.39-4")
	add(server("nginx", "12003"), testImages+"hostnet-nginx-"+runtime.GOARCH+":latest")
	add(oci.Spec{Layers: [][]oci.File{{{Path: "/nnp", Mode: 0o4755, Data: program}}}, Cmd: []string{"/nnp"}}, e2eImages+"nonewprivs:1.3")
	for name, user := range map[string]string{"uid": "1002", "username": "www-data", "uid-group": "1003:1003", "username-group": "www-data:www-data"} {
		add(oci.Spec{Cmd: shell, User: user}, testImages+"test-image-user-"+name+":latest")
	}
	add(oci.Spec{Cmd: shell, User: "1000", Layers: [][]oci.File{{
		{Path: "/etc/passwd", Mode: 0o644, Data: []byte(passwd + "default-user:x:1000:1000::/home:/bin/sh\n")},
		{Path: "/etc/group", Mode: 0o644, Data: []byte(group + "default-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n")},
	}}}, testImages+"test-image-predefined-group:latest")
	withFile := func(name string) oci.Spec { // images differ in one file
		return oci.Spec{Cmd: []string{"sleep", "1000000"}, Layers: [][]oci.File{{{Path: "/image", Mode: 0o644, Data: []byte(name)}}}}
	}
	for _, name := range []string{"test-image-latest:latest", "test-image-tag:test", "test-image-tag:all", "test-image-1:latest", "test-image-2:latest", "test-image-3:latest"} {
		add(withFile(name), testImages+name)
	}
	add(withFile("tags"), testImages+"test-image-tags:1", testImages+"test-image-tags:2", testImages+"test-image-tags:3")
	byDigest := add(withFile("digest"), digestRepository+":latest")
	if err != nil {
		return "", err
	}
	hash, err := byDigest.Digest()
	return hash.String(), err
}

// busyboxLayer returns a root file system with the applets of busybox.
func busyboxLayer() ([]oci.File, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("substitute images: %w: install busybox-static", err)
	}
	code, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", busybox, err)
	}
	// A spec makes ls inaccessible. Debian's busybox runs its applets without their files, so the shell
	// is a copy that does not find an applet ls. The new name keeps the order of the applets.
	shell := bytes.Replace(code, []byte("\x00losetup\x00ls\x00"), []byte("\x00losetup\x00lr\x00"), 1)
	files := []oci.File{{Path: "/bin/busybox", Mode: 0o755, Data: code}, {Path: "/bin/sh", Mode: 0o755, Data: shell}, {Path: "/etc/passwd", Mode: 0o644, Data: []byte(passwd)},
		{Path: "/etc/group", Mode: 0o644, Data: []byte(group)}, {Path: "/mnt/empty", Mode: 0o644}, {Path: "/tmp/empty", Mode: 0o644}}
	for _, applet := range strings.Fields(string(applets)) {
		switch applet {
		case "busybox", "sh", "pgrep", "ipcs":
		case "ls": // a separate file, or the spec would make busybox inaccessible
			files = append(files, oci.File{Path: "/bin/ls", Mode: 0o755, Data: code})
		default:
			files = append(files, oci.File{Path: path.Join("/bin", applet), Link: "busybox"})
		}
	}
	return files, nil
}
